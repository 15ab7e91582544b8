import {
  type DoubleQuotedChild, forEachChild, type ParsedScript, type Script, type SyntaxNode, type Word as WordNode,
  type WordPart,
} from 'unbash'
import {
  type Expansion, type ExpansionPart, NeedsShell, type PatternPart, PLAIN, type Scope, type Step, type Word,
} from './plan.ts'

/** Where a shell replaces `~` with a home folder: at the start of a word, and in assignments. */
const TILDE = /(?:^|[=:])~/
/** Only the escapes that all shells read alike. */
const PLAIN_ANSI_C = /^\$'(?:[^\\']|\\[nt\\'"])*'$/
const SIMPLE_SET = /^\[([!^]?)([A-Za-z0-9_.]+(?:-[A-Za-z0-9]+)*)\]$/

/** A brace expansion without quotes or nesting. */
const PLAIN_BRACES = /^\{[\w./-]*(?:,[\w./-]*)+\}$/
const MAX_WORDS = 100

/** Reads a word and applies brace expansion. Throws NeedsShell. */
export function readWords(node: WordNode, scope: Scope): readonly Word[] {
  const { parts = [] } = node
  const at = parts.findIndex(({ type }) => type === 'BraceExpansion')
  if (at < 0) return [readWord(node, scope)]
  const { text } = parts[at]!
  if (!PLAIN_BRACES.test(text)) throw new NeedsShell('a brace expansion')
  const words = text.slice(1, -1).split(',').flatMap((one) => {
    const part: WordPart = { type: 'Literal', pos: 0, end: 0, text: one, value: one }
    return readWords({ ...node, parts: parts.with(at, part) }, scope)
  })
  if (words.length > MAX_WORDS) throw new NeedsShell('a brace expansion to very many words')
  // Empty words disappear unless they are quoted.
  return words.filter((word) => word.text !== '' || parts.some(({ type }) => type.endsWith('Quoted')))
}

/** Reads a word that means the same without a shell. Throws NeedsShell for all others. */
export function readWord(node: WordNode, scope: Scope = PLAIN): Word {
  const { parts } = node
  if (parts === undefined) {
    refuseUnsupported(node.text)
    return { text: node.value }
  }
  const expansion = scope.expand(node)
  if (expansion !== undefined) return { text: node.text, expansion }
  const read = parts.map((part, index) => readPart(part, index === 0 ? '' : parts[index - 1]!.text))
  const text = read.map((part) => part.text).join('')
  if (!read.some(({ wild }) => wild !== undefined)) return { text }
  if (text.startsWith('/')) throw new NeedsShell('an absolute pattern')
  return { text, pattern: read.map((part) => part.wild ?? { kind: 'text', text: part.text }) }
}

/** The parser is lenient and accepts unquoted characters that a shell would not treat as part of a word. */
function refuseUnsupported(text: string): void {
  if (TILDE.test(text)) throw new NeedsShell('~ for the home folder')
  const bare = text.replaceAll(/\\[^]/g, '')
  if (/[\s()<>&|;`$"'\\]/.test(bare)) throw new NeedsShell(`the word ${text}`)
}

interface ReadPart {
  readonly text: string
  readonly wild?: PatternPart
}

function readPart(part: WordPart, before: string): ReadPart {
  switch (part.type) {
    case 'Literal':
      refuseUnsupported(before === '' ? part.text : `${before.at(-1)!}${part.text}`.replace(/^[^=:]/, '.'))
      return { text: part.value }
    case 'SingleQuoted':
      return { text: part.value }
    case 'DoubleQuoted':
      return {
        text: part.parts.map((inner) => inner.type === 'Literal' ? inner.value : readPart(inner, '"').text).join(''),
      }
    case 'AnsiCQuoted':
      if (!PLAIN_ANSI_C.test(part.text)) throw new NeedsShell("an escape in $'…'")
      return { text: part.value }
    case 'Glob':
      return { text: part.text, wild: readGlob(part.kind, part.text) }
    case 'SimpleExpansion':
    case 'ParameterExpansion':
      throw new NeedsShell(`the variable ${part.text}`)
    case 'CommandExpansion':
      throw new NeedsShell('a command substitution')
    case 'ProcessSubstitution':
      throw new NeedsShell('a process substitution')
    case 'ArithmeticExpansion':
      throw new NeedsShell('arithmetic')
    case 'BraceExpansion':
      throw new NeedsShell('a brace expansion')
    case 'ExtendedGlob':
    case 'LocaleString':
      throw new NeedsShell(`the syntax ${part.text}`)
    default:
      throw new NeedsShell('unknown syntax')
  }
}

function readGlob(kind: 'star' | 'question' | 'bracket', text: string): PatternPart {
  if (kind === 'star') return { kind: 'star' }
  if (kind === 'question') return { kind: 'any' }
  const [, negation, chars] = SIMPLE_SET.exec(text) ?? []
  if (chars === undefined) throw new NeedsShell(`the pattern ${text}`)
  return { kind: 'set', chars, negated: negation !== '' }
}

/** Variables that every command has in its environment. None of them is secret. */
const ENVIRONMENT: ReadonlySet<string> = new Set(['HOME', 'PATH', 'USER', 'LOGNAME', 'LANG', 'TERM', 'TZ'])
const NAME = /^\$\{?([A-Za-z_]\w*)\}?$/

type ExpansionNode = Extract<WordPart, { type: 'SimpleExpansion' | 'ParameterExpansion' | 'CommandExpansion' }>
const EXPANSIONS: ReadonlySet<string> = new Set(['SimpleExpansion', 'ParameterExpansion', 'CommandExpansion'])
const isExpansion = (part: WordPart): part is ExpansionNode => EXPANSIONS.has(part.type)

/** Reads the steps of a command substitution. */
type ReadInner = (script: Script, scope: Scope) => readonly Step[]

/** The scope of a read-only plan. Positions in the syntax tree refer to `text`. */
export function readOnlyScope(text: string, readInner: ReadInner, variables: readonly string[] = []): Scope {
  const scope: Scope = {
    readOnly: true,
    expand: (node) => readExpandedWord(
      node, (part) => readExpansion(part, text, variables, (script) => readInner(script, scope)),
    ),
    inLoop: (name) => readOnlyScope(text, readInner, [...variables, name]),
  }
  return scope
}

type ReadExpansion = (part: ExpansionNode) => ExpansionPart

/** Reads a single expansion, or quoted strings with expansions. Other mixtures have more complex splitting rules. */
function readExpandedWord({ parts = [] }: WordNode, read: ReadExpansion): Expansion | undefined {
  const [first] = parts
  if (parts.length === 1 && isExpansion(first!)) return { parts: [read(first)], split: true }
  const isQuoted = (part: WordPart): boolean =>
    part.type === 'DoubleQuoted' && part.parts.some((inner) => isExpansion(inner))
  if (!parts.some(isQuoted) || !parts.every(({ type }) => type === 'DoubleQuoted' || type === 'SingleQuoted')) {
    return undefined
  }
  return { parts: parts.flatMap((part) => readQuoted(part, read)), split: false }
}

function readQuoted(part: WordPart, read: ReadExpansion): readonly ExpansionPart[] {
  if (part.type === 'SingleQuoted') return [{ kind: 'text', text: part.value }]
  if (part.type !== 'DoubleQuoted') return []
  return part.parts.map((inner: DoubleQuotedChild): ExpansionPart => {
    if (inner.type === 'Literal') return { kind: 'text', text: inner.value }
    if (!isExpansion(inner)) throw new NeedsShell('arithmetic')
    return read(inner)
  })
}

function readExpansion(
  part: ExpansionNode, text: string, variables: readonly string[], readSteps: (script: ParsedScript) => readonly Step[],
): ExpansionPart {
  if (part.type === 'CommandExpansion') {
    const { script, pos, end } = part
    // Backquoted code is unescaped before parsing, so its positions do not refer to `text`.
    if (script === undefined || text.slice(pos, pos + 2) !== '$(' || script.source !== undefined) {
      throw new NeedsShell('a command substitution')
    }
    const steps = readSteps(script)
    if (!isFullyParsed(text, script, { pos: pos + 2, end: end - 1, readOnly: true })) {
      throw new NeedsShell('a part of it could not be parsed')
    }
    return { kind: 'output', steps }
  }
  if (part.text === '$?' || part.text === '${?}') return { kind: 'status' }
  const [, name] = NAME.exec(part.text) ?? []
  if (name === undefined || !(ENVIRONMENT.has(name) || variables.includes(name))) {
    throw new NeedsShell(`the variable ${part.text}`)
  }
  return { kind: 'variable', name }
}

/**
 * What may occur between the words of a plan: white space, comments and operators. Unambiguous, so matching is linear.
 */
const BETWEEN = /^(?:[ \t\n;]|\\\n|&&|\|&?|#[^\n]*(?:\n|$))*$/
/** The same for read-only plans, which also allow some keywords. */
const BETWEEN_READ_ONLY = /^(?:[ \t\n;()]|\\\n|&&|\|&?|#[^\n]*(?:\n|$)|\b(?:for|in|do|done|while|time)\b)*$/

interface Part {
  readonly pos: number
  readonly end: number
  readonly readOnly: boolean
}

/**
 * Whether the syntax tree covers every character. The parser is lenient and may skip unexpected input without an error.
 * The plan would then run without the skipped part.
 */
export function isFullyParsed(
  text: string, script: Script, { pos, end, readOnly }: Part = { pos: 0, end: text.length, readOnly: false },
): boolean {
  const rest = Array.from({ length: text.length }, (_, index) => text[index]!)
  const take = (node: { readonly pos: number; readonly end: number }): void => void rest.fill(' ', node.pos, node.end)
  const visit = (node: SyntaxNode): void => {
    switch (node.type) {
      case 'HereDoc':
        take(node)
        take(node.body)
        if (node.closing !== undefined) take(node.closing)
        return
      case 'Word':
      case 'Assignment':
      case 'Redirect':
      case 'HereString':
      case 'Negation':
      case 'TestCommand':
        return take(node)
      default:
        forEachChild(node, visit)
    }
  }
  visit({ errors: undefined, ...script })
  return (readOnly ? BETWEEN_READ_ONLY : BETWEEN).test(rest.slice(pos, end).join(''))
}
