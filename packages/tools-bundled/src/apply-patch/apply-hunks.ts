import { comparable, type Effort, FUZZ, type Fuzz, lineEndOf, LineFinder, withoutLineEnd } from './find-lines.ts'
import { type Hunk, type HunkLine, refused } from './patch.ts'

/** A hunk in its place. */
export interface PlacedHunk {
  /** The first line in the old and in the new file, from 0. */
  readonly at: number
  readonly newAt: number
  readonly lines: readonly HunkLine[]
  /** How many lines further down it was than the patch states. */
  readonly offset: number
  readonly fuzz: Fuzz
  readonly isRecounted: boolean
}

export interface AppliedHunks {
  readonly lines: readonly string[]
  readonly hunks: readonly PlacedHunk[]
}

/** Throws InputInvalid if the lines of a hunk are not in the file, or are there more than once. */
export function applyHunks(
  path: string, old: readonly string[], hunks: readonly Hunk[], effort: Effort,
): AppliedHunks {
  const finder = new LineFinder(old, effort)
  const fileEnd = commonLineEnd(old)
  const lines: string[] = []
  const placed: PlacedHunk[] = []
  let [copied, drift] = [0, 0]
  for (const [index, hunk] of hunks.entries()) {
    const place = placeOf(hunk, finder, { name: `Hunk ${index + 1} of "${path}"`, old, from: copied, drift })
    const body = withLastLine(hunk.lines, place.at, old)
    const at = body === hunk.lines ? place.at : place.at - 1
    append(lines, old.slice(copied, at))
    const newAt = lines.length
    append(lines, newLines(body, old.slice(at), place.fuzz, fileEnd))
    copied = at + body.filter(({ sign }) => sign !== '+').length
    const offset = hunk.at === undefined ? 0 : place.at - hunk.at
    if (hunk.at !== undefined) drift = offset
    placed.push({ at, newAt, lines: body, offset, fuzz: place.fuzz, isRecounted: hunk.isRecounted === true })
  }
  append(lines, old.slice(copied))
  const isCut = (line: string, index: number): boolean => lineEndOf(line) === '' && index < lines.length - 1
  return { lines: lines.map((line, index) => isCut(line, index) ? line + fileEnd : line), hunks: placed }
}

/** What new lines end in: CRLF if all lines do. */
function commonLineEnd(lines: readonly string[]): '\n' | '\r\n' {
  const ended = lineEndOf(lines.at(-1) ?? '') === '' ? lines.slice(0, -1) : lines
  return ended.length > 0 && ended.every((line) => lineEndOf(line) === '\r\n') ? '\r\n' : '\n'
}

/** No spread: there may be more lines than a call can take arguments. */
function append(lines: string[], more: readonly string[]): void {
  for (const line of more) lines.push(line)
}

interface Search {
  /** For messages. */
  readonly name: string
  readonly old: readonly string[]
  /** Lines before this one belong to earlier hunks. */
  readonly from: number
  /** How far off the earlier hunk was. */
  readonly drift: number
}

interface Place {
  readonly at: number
  readonly fuzz: Fuzz
}

const SHOWN_PLACES = 5

function placeOf(hunk: Hunk, finder: LineFinder, { name, old, from, drift }: Search): Place {
  const sought = hunk.lines.filter(({ sign }) => sign !== '+').map(({ text }) => text)
  const anchors = hunk.anchors ?? []
  const start = anchors.reduce((after, anchor) => lineAfter(anchor, finder, name, after), from)
  if (sought.length === 0) {
    const at = hunk.at ?? (anchors.length > 0 ? start : old.length)
    if (at < from || at > old.length) throw refused(`${name} adds lines after line ${at}, which does not exist.`)
    return { at, fuzz: 'none' }
  }
  const expected = hunk.at === undefined ? undefined : hunk.at + drift
  for (const fuzz of FUZZ) {
    if (hunk.isAtEnd === true) {
      const at = old.length - sought.length
      if (at >= start && finder.isAt(sought, at, fuzz)) return { at, fuzz }
      continue
    }
    const isStated = expected !== undefined && expected >= start && finder.isAt(sought, expected, fuzz)
    if (isStated) return { at: expected, fuzz }
    const [first, ...others] = finder.find(sought, start, fuzz, SHOWN_PLACES)
    if (first === undefined) continue
    // An anchor says where to begin, so the first place after it is meant.
    if (others.length === 0 || anchors.length > 0) return { at: first, fuzz }
    throw ambiguous(name, [first, ...others])
  }
  throw notFound(name, finder.missing(sought), start)
}

function lineAfter(anchor: string, finder: LineFinder, name: string, start: number): number {
  const [first, ...others] = finder.find([anchor], start, 'whitespace', SHOWN_PLACES)
  const what = `The line "${shown(anchor)}" after "@@" of ${name}`
  if (first === undefined) throw refused(`${what} is not in the file from line ${start + 1} on. Nothing was written.`)
  if (others.length > 0) throw ambiguous(what, [first, ...others])
  return first + 1
}

function ambiguous(name: string, places: readonly number[]) {
  const more = places.length === SHOWN_PLACES ? ' and maybe more' : ''
  return refused(`${name} fits at lines ${places.map((at) => at + 1).join(', ')}${more}. Nothing was written. `
    + 'Add lines of context until it fits once.')
}

function notFound(name: string, missing: string | undefined, start: number) {
  const line = missing === undefined ? '' : ` The file does not have the line "${shown(missing)}".`
  return refused(`${name} does not fit anywhere from line ${start + 1} on.${line} Nothing was written. `
    + 'Read the file and copy its lines exactly.')
}

const SHOWN_CHARS = 200
const shown = (line: string): string => {
  const text = Buffer.from(comparable(line, 'whitespace'), 'latin1').toString('utf8')
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS).toWellFormed()}…` : text
}

/** Lines added after a last line without a line end change that line too. */
function withLastLine(lines: readonly HunkLine[], at: number, old: readonly string[]): readonly HunkLine[] {
  const last = old.at(-1)
  if (at === 0 || at !== old.length || last === undefined || lineEndOf(last) !== '') return lines
  return [{ sign: ' ', text: last }, ...lines]
}

/** Context stays as it is in the file. New lines get the line ends of the file if only those differ. */
function newLines(body: readonly HunkLine[], old: readonly string[], fuzz: Fuzz, fileEnd: string): readonly string[] {
  const count = body.filter(({ sign }) => sign !== '+').length
  const replaced = old.slice(0, count)
  const adapts = fuzz !== 'none' || (count === 0 && fileEnd === '\r\n')
  const end = replaced.map(lineEndOf).find((each) => each !== '') ?? fileEnd
  const lines: string[] = []
  let kept = 0
  for (const { sign, text } of body) {
    if (sign === '+') lines.push(adapts && lineEndOf(text) !== '' ? withoutLineEnd(text) + end : text)
    else if (sign === ' ') lines.push(replaced[kept]!)
    if (sign !== '+') kept++
  }
  // The patch could not state that the last line has no line end.
  const lacksEnd = fuzz !== 'none' && count === old.length && lineEndOf(replaced.at(-1)!) === ''
  const last = lines.at(-1)
  return lacksEnd && last !== undefined ? [...lines.slice(0, -1), withoutLineEnd(last)] : lines
}
