// A peer for Deno: reads the file that each line names, and answers with a line of JSON.
const decoder = new TextDecoder()
const encoder = new TextEncoder()
let rest = ''
for await (const bytes of Deno.stdin.readable) {
  const lines = (rest + decoder.decode(bytes)).split('\n')
  rest = lines.pop()
  for (const line of lines) {
    const { path } = JSON.parse(line)
    await Deno.stdout.write(encoder.encode(`${JSON.stringify({ text: await Deno.readTextFile(path) })}\n`))
  }
}
