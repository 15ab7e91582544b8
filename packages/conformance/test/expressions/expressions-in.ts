/** A regular expression literal. */
export interface Expression {
  readonly pattern: string
  readonly flags: string
}

/** The regular expressions of a source file. */
export interface Found {
  readonly literals: readonly Expression[]
  /** How many are built at run time. */
  readonly composed: number
}

const BEFORE_LITERAL: ReadonlySet<string> = new Set('(,=:[!&|?{};+-*%<>~^')
const KEYWORD = /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|yield|await|throw)$/
const WORD_OR_BLANKS = /\w+|\s+/y

/** Parses a source far enough to distinguish literals from divisions, comments and strings. */
export function expressionsIn(source: string): Found {
  const literals: Expression[] = []
  let composed = 0
  let before = ''
  /** For each open template, the depth of braces at which it continues. */
  const templates: number[] = []
  let depth = 0
  for (let at = source.startsWith('#!') ? endOf(source, '\n', 0) : 0; at < source.length;) {
    const character = source[at]!
    if (source.startsWith('//', at)) at = endOf(source, '\n', at)
    else if (source.startsWith('/*', at)) at = endOf(source, '*/', at + 2)
    else if (character === "'" || character === '"') {
      at = afterString(source, at, character)
      before += '"'
    } else if (character === '`' || (character === '}' && templates.at(-1) === depth)) {
      if (character === '}') templates.pop()
      const [end, goesOn] = afterTemplate(source, at + 1)
      if (goesOn) templates.push(depth)
      before += goesOn ? '(' : '"'
      at = end
    } else if (
      character === '/'
      && (before === '' || BEFORE_LITERAL.has(before.at(-1)!) || KEYWORD.test(before.slice(-12)))
    ) {
      const end = afterPattern(source, at + 1)
      const flags = /^[a-z]*/.exec(source.slice(end))![0]
      literals.push({ pattern: source.slice(at + 1, end - 1), flags })
      before += '"'
      at = end + flags.length
    } else {
      if (character === '{') depth++
      if (character === '}') depth--
      // Whole words and blanks at once: one character at a time took a second for all sources.
      WORD_OR_BLANKS.lastIndex = at
      const run = WORD_OR_BLANKS.exec(source)?.[0] ?? character
      at += run.length
      if (run === 'RegExp' && source[at] === '(' && /new\s*$/.test(before.slice(-8))) composed++
      if (!/\s/.test(character)) before += run
      else if (/\w/.test(before.at(-1) ?? '') && /\w/.test(source[at] ?? '')) before += ' '
      if (before.length > 200) before = before.slice(-40)
    }
  }
  return { literals, composed }
}

const endOf = (source: string, end: string, from: number): number => {
  const at = source.indexOf(end, from)
  return at < 0 ? source.length : at + end.length
}

function afterString(source: string, from: number, quote: string): number {
  let at = from + 1
  while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1
  return at + 1
}

/** The end of one part of a template, and whether an expression follows. */
function afterTemplate(source: string, from: number): readonly [end: number, goesOn: boolean] {
  for (let at = from; at < source.length; at++) {
    if (source[at] === '\\') at++
    else if (source[at] === '`') return [at + 1, false]
    else if (source.startsWith('${', at)) return [at + 2, true]
  }
  return [source.length, false]
}

function afterPattern(source: string, from: number): number {
  let inClass = false
  for (let at = from; at < source.length; at++) {
    const character = source[at]
    if (character === '\\') at++
    else if (character === '[') inClass = true
    else if (character === ']') inClass = false
    else if (character === '/' && !inClass) return at + 1
  }
  return source.length
}
