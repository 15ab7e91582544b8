import { headerAt, refused, refusedAt, type FilePatch, type Hunk, type HunkLine } from './patch.ts'

/** Files of a unified diff, also as git writes it. Text around them is ignored. Throws InputInvalid. */
export function parseUnified(lines: readonly string[]): readonly FilePatch[] {
  const files: FilePatch[] = []
  for (let at = 0; at < lines.length;) {
    const line = headerAt(lines, at)
    if (line.startsWith('@@@')) throw refusedAt(at + 1, 'a diff of a merge cannot be applied')
    if (HUNK.test(line)) throw refusedAt(at + 1, 'a hunk comes before the names of its file ("---" and "+++")')
    const read = line.startsWith('diff --git ') ? gitFile(lines, at)
      : isFileStart(lines, at) ? plainFile(lines, at) : undefined
    if (read !== undefined) files.push(read.file)
    at = read?.next ?? at + 1
  }
  return files
}

interface Parsed {
  readonly file: FilePatch
  readonly next: number
}

const HUNK = /^@@(?:\s|$)/
const isFileStart = (lines: readonly string[], at: number): boolean =>
  headerAt(lines, at).startsWith('--- ') && headerAt(lines, at + 1).startsWith('+++ ')

function plainFile(lines: readonly string[], at: number): Parsed {
  const [from, to] = namesAt(lines, at)
  if (from === null && to === null) throw refusedAt(at + 1, 'the file has no name')
  const { hunks, next } = hunksFrom(lines, at + 2)
  if (hunks.length === 0) throw refusedAt(at + 1, `"${to ?? from}" has no hunk`)
  return { file: { from, to, hunks }, next }
}

/** The mode of a regular file. */
const MODE = /^100(644|755|664|600)$/

function gitFile(lines: readonly string[], start: number): Parsed {
  const fields = new Map<string, string>()
  let at = start + 1
  for (; at < lines.length; at++) {
    const found = FIELD.exec(headerAt(lines, at))
    if (found === null) break
    fields.set(found[1]!, found[2]!)
  }
  const mode = fields.get('new file mode') ?? fields.get('new mode') ?? fields.get('deleted file mode')
  const named = isFileStart(lines, at) ? namesAt(lines, at) : undefined
  const path = unquoted(fields.get('rename to') ?? fields.get('copy to') ?? '') || named?.[1] || named?.[0]
    || namesInHeader(headerAt(lines, start).slice('diff --git '.length))
  if (path === undefined || path === '') throw refusedAt(start + 1, 'the name of the file cannot be read')
  if (mode !== undefined && !MODE.test(mode)) {
    throw refused(`"${path}" is a link or a submodule. Patches can change regular files only.`)
  }
  if (/^(?:GIT binary patch|Binary files )/.test(headerAt(lines, at))) {
    throw refused(`"${path}" is binary. Patches can change text only.`)
  }
  const { hunks, next } = named === undefined ? { hunks: [], next: at } : hunksFrom(lines, at + 2)
  const source = fields.get('rename from') ?? fields.get('copy from')
  const file = {
    from: fields.has('new file mode') ? null : source === undefined ? named?.[0] ?? path : unquoted(source),
    to: fields.has('deleted file mode') ? null : path,
    hunks, isCopy: fields.has('copy from'),
    executable: fields.has('deleted file mode') || mode === undefined ? undefined : mode === '100755',
  }
  return { file, next }
}

const FIELD =
  /^((?:old|new|deleted file|new file) mode|(?:copy|rename) (?:from|to)|(?:dis)?similarity index|index) (.*)$/

/** Prefixes that git gives to the old and the new name. */
const PREFIXES = [['a/', 'b/'], ['b/', 'a/'], ['i/', 'w/'], ['c/', 'i/'], ['c/', 'w/'], ['o/', 'w/'], ['1/', '2/']]

function namesAt(lines: readonly string[], at: number): readonly [from: string | null, to: string | null] {
  const [from, to] = [nameIn(headerAt(lines, at).slice(4)), nameIn(headerAt(lines, at + 1).slice(4))]
  const [one, other] = PREFIXES.find(([first, second]) =>
    (from ?? first)!.startsWith(first!) && (to ?? second)!.startsWith(second!)) ?? ['', '']
  return [from && from.slice(one!.length), to && to.slice(other!.length)]
}

/** Without the time that other programs write after it. */
function nameIn(written: string): string | null {
  const name = written.startsWith('"') ? unquoted(written) : written.split('\t')[0]!.trimEnd()
  return name === '/dev/null' ? null : name
}

/** The only name in `a/name b/name`, for a file without changed lines. */
function namesInHeader(written: string): string | undefined {
  if (written.startsWith('"')) return unquoted(written).replace(/^[a-z0-9]\//, '')
  const half = written.slice(0, (written.length - 1) / 2)
  const other = written.slice(half.length + 1)
  if (half === other) return half
  const isPrefixed = PREFIXES.some(([one, two]) => half.startsWith(one!) && other.startsWith(two!))
  return isPrefixed && half.slice(2) === other.slice(2) ? half.slice(2) : undefined
}

const ESCAPES: Readonly<Record<string, string>> =
  { a: '\x07', b: '\b', t: '\t', n: '\n', v: '\v', f: '\f', r: '\r', '"': '"', '\\': '\\' }

/** Git quotes names with special characters, byte by byte. */
function unquoted(written: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(written)?.[1]
  if (quoted === undefined) return written
  const bytes = Buffer.from(quoted).toString('latin1')
    .replaceAll(/\\([0-7]{3}|.)/g, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8) & 0xff) : ESCAPES[code] ?? code)
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function hunksFrom(
  lines: readonly string[], start: number,
): { readonly hunks: readonly Hunk[]; readonly next: number } {
  const hunks: Hunk[] = []
  let at = start
  while (at < lines.length && HUNK.test(headerAt(lines, at))) {
    const { hunk, next } = readHunk(lines, at)
    if (hunk.lines.length > 0) hunks.push(hunk)
    at = next
  }
  return { hunks, next: at }
}

const NUMBERS = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/

function readHunk(lines: readonly string[], start: number): { readonly hunk: Hunk; readonly next: number } {
  const numbers = NUMBERS.exec(headerAt(lines, start))
  const [line, removed, added] = [Number(numbers?.[1]), Number(numbers?.[2] ?? 1), Number(numbers?.[3] ?? 1)]
  const counted = numbers === null ? undefined : readBody(lines, start + 1, removed, added)
  const body = counted ?? readBody(lines, start + 1)
  if (body === undefined || (body.lines.length === 0 && removed + added > 0)) {
    throw refusedAt(start + 1, 'the hunk has no lines')
  }
  const old = body.lines.filter(({ sign }) => sign !== '+').length
  const at = numbers === null ? undefined : Math.max(0, old === 0 ? line : line - 1)
  return { hunk: { at, lines: body.lines, isRecounted: numbers !== null && counted === undefined }, next: body.next }
}

interface Body {
  readonly lines: readonly HunkLine[]
  readonly next: number
}

/** The lines of a hunk. undefined if the numbers of its header are not the numbers of its lines. */
function readBody(lines: readonly string[], start: number, removed = Infinity, added = Infinity): Body | undefined {
  const body: HunkLine[] = []
  let [old, fresh, at] = [0, 0, start]
  for (; at < lines.length && (old < removed || fresh < added || lines[at]!.startsWith('\\')); at++) {
    const line = lines[at]!
    if (line.startsWith('\\')) {
      const last = body.pop()
      if (last !== undefined) body.push({ sign: last.sign, text: last.text.replace(/\n$/, '') })
      continue
    }
    if (removed === Infinity && (isFileStart(lines, at) || line === '-- ')) break
    // Some editors remove the space of an empty line.
    const isEmpty = line === '' || line === '\r'
    const sign = isEmpty ? ' ' : line[0]
    if (sign !== ' ' && sign !== '-' && sign !== '+') break
    body.push({ sign, text: `${isEmpty ? line : line.slice(1)}\n` })
    if (sign !== '+') old++
    if (sign !== '-') fresh++
  }
  if (removed === Infinity) return withoutBlankEnd(lines, body, at)
  const rest = lines[at]
  const continues = rest !== undefined && /^[ +-]/.test(rest) && rest !== '-- ' && !isFileStart(lines, at)
  return old === removed && fresh === added && !continues ? { lines: body, next: at } : undefined
}

/** Empty lines after a hunk are not part of it. */
function withoutBlankEnd(lines: readonly string[], body: HunkLine[], end: number): Body {
  while (body.length > 0 && /^\r?$/.test(lines[end - 1]!)) {
    body.pop()
    end--
  }
  return { lines: body, next: end }
}
