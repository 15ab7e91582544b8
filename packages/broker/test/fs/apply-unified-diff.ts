/** Applies a diff. Throws if the diff does not match the text. */
export function applyUnifiedDiff(text: string, diff: string): string {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const result: string[] = []
  let at = 0
  for (const hunk of diff.split(/^(?=@@ )/m).slice(1)) {
    const [, start, count = '1'] = /^@@ -(\d+)(?:,(\d+))? /.exec(hunk)!
    const first = Number(start) - (count === '0' ? 0 : 1)
    result.push(...lines.slice(at, first))
    at = first
    const body = hunk.slice(hunk.indexOf('\n') + 1).replaceAll('\n\\ No newline at end of file\n', '\0')
    for (const line of body.match(/[^\n\0]*[\n\0]/g) ?? []) {
      const content = line.slice(1).replace('\0', '')
      if (line[0] === '+') result.push(content)
      else if (lines[at++] !== content) throw new Error(
        `line ${at} is ${JSON.stringify(lines[at - 1])}, not ${JSON.stringify(content)}`,
      )
      else if (line[0] === ' ') result.push(content)
    }
  }
  return [...result, ...lines.slice(at)].join('')
}
