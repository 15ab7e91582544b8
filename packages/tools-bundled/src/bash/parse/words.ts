import { forEachChild, type Script, type SyntaxNode, type Word as WordNode, type WordPart } from 'unbash'
import { NeedsShell, type PatternPart, type Word } from './plan.ts'

/** Where a shell replaces `~` with a home folder: at the start of a word, and in assignments. */
const TILDE = /(?:^|[=:])~/
/** Only the escapes that all shells read alike. */
const PLAIN_ANSI_C = /^\$'(?:[^\\']|\\[nt\\'"])*'$/
const SIMPLE_SET = /^\[([!^]?)([A-Za-z0-9_.]+(?:-[A-Za-z0-9]+)*)\]$/

/** Reads a word that means the same without a shell. Throws NeedsShell for all others. */
export function readWord(node: WordNode): Word {
  const { parts } = node
  if (parts === undefined) {
    refuseUnsupported(node.text)
    return { text: node.value }
  }
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

/**
 * What may occur between the words of a plan: white space, comments and operators. Unambiguous, so matching is linear.
 */
const BETWEEN = /^(?:[ \t\n;]|\\\n|&&|\|&?|#[^\n]*(?:\n|$))*$/

/**
 * Whether the syntax tree covers every character. The parser is lenient and may skip unexpected input without an error.
 * The plan would then run without the skipped part.
 */
export function isFullyParsed(text: string, script: Script): boolean {
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
        return take(node)
      default:
        forEachChild(node, visit)
    }
  }
  visit({ errors: undefined, ...script })
  return BETWEEN.test(rest.join(''))
}
