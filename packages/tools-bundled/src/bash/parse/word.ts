import type { Word as WordNode, WordPart } from 'unbash'
import { NeedsShell, type PatternPart, PLAIN, type Scope, type Word } from './plan.ts'

/** As in an assignment, and in front of a word: there a shell puts a home folder in its place. */
const TILDE = /(?:^|[=:])~/
/** The escapes that mean the same wherever they are read. */
const PLAIN_ANSI_C = /^\$'(?:[^\\']|\\[nt\\'"])*'$/
const SIMPLE_SET = /^\[([!^]?)([A-Za-z0-9_.]+(?:-[A-Za-z0-9]+)*)\]$/

/** One that stands for several, each without its quotes. */
const PLAIN_BRACES = /^\{[\w./-]*(?:,[\w./-]*)+\}$/
const MAX_WORDS = 100

/** The words that one stands for: more than one where it has braces. Contract: throws NeedsShell. */
export function readWords(node: WordNode, scope: Scope): readonly Word[] {
  const { parts = [] } = node
  const at = parts.findIndex(({ type }) => type === 'BraceExpansion')
  if (at < 0) return [readWord(node, scope)]
  const { text } = parts[at]!
  if (!PLAIN_BRACES.test(text)) throw new NeedsShell('braces that stand for several words')
  const words = text.slice(1, -1).split(',').flatMap((one) => {
    const part: WordPart = { type: 'Literal', pos: 0, end: 0, text: one, value: one }
    return readWords({ ...node, parts: parts.with(at, part) }, scope)
  })
  if (words.length > MAX_WORDS) throw new NeedsShell('braces that stand for very many words')
  // Without quotes, what is empty is no word.
  return words.filter((word) => word.text !== '' || parts.some(({ type }) => type.endsWith('Quoted')))
}

/** A word that means the same without a shell. Contract: throws NeedsShell for every other. */
export function readWord(node: WordNode, scope: Scope = PLAIN): Word {
  const { parts } = node
  if (parts === undefined) {
    refuseOdd(node.text)
    return { text: node.value }
  }
  const made = scope.make(node)
  if (made !== undefined) return { text: node.text, made }
  const read = parts.map((part, index) => readPart(part, index === 0 ? '' : parts[index - 1]!.text))
  const text = read.map((part) => part.text).join('')
  if (!read.some(({ wild }) => wild !== undefined)) return { text }
  if (text.startsWith('/')) throw new NeedsShell('a pattern that begins at the root')
  return { text, pattern: read.map((part) => part.wild ?? { kind: 'text', text: part.text }) }
}

/** The parser forgives: what it lets pass outside of quotes, and a shell would not take for a part of a word, is none here. */
function refuseOdd(text: string): void {
  if (TILDE.test(text)) throw new NeedsShell('~ stands for a home folder')
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
      refuseOdd(before === '' ? part.text : `${before.at(-1)!}${part.text}`.replace(/^[^=:]/, '.'))
      return { text: part.value }
    case 'SingleQuoted':
      return { text: part.value }
    case 'DoubleQuoted':
      return { text: part.parts.map((inner) => inner.type === 'Literal' ? inner.value : readPart(inner, '"').text).join('') }
    case 'AnsiCQuoted':
      if (!PLAIN_ANSI_C.test(part.text)) throw new NeedsShell("$'…' with escapes of its own")
      return { text: part.value }
    case 'Glob':
      return { text: part.text, wild: readGlob(part.kind, part.text) }
    case 'SimpleExpansion':
    case 'ParameterExpansion':
      throw new NeedsShell(`the variable ${part.text}`)
    case 'CommandExpansion':
      throw new NeedsShell('a command whose output becomes part of another')
    case 'ProcessSubstitution':
      throw new NeedsShell('a command that stands for a file')
    case 'ArithmeticExpansion':
      throw new NeedsShell('arithmetic')
    case 'BraceExpansion':
      throw new NeedsShell('braces that stand for several words')
    case 'ExtendedGlob':
    case 'LocaleString':
      throw new NeedsShell(`the form ${part.text}`)
    default:
      throw new NeedsShell('a form that is not known here')
  }
}

function readGlob(kind: 'star' | 'question' | 'bracket', text: string): PatternPart {
  if (kind === 'star') return { kind: 'star' }
  if (kind === 'question') return { kind: 'any' }
  const [, negation, chars] = SIMPLE_SET.exec(text) ?? []
  if (chars === undefined) throw new NeedsShell(`the pattern ${text}`)
  return { kind: 'set', chars, negated: negation !== '' }
}
