import {
  type DoubleQuotedChild, forEachChild, type ParsedScript, type Script, type SyntaxNode, type Word as WordNode, type WordPart,
} from 'unbash'
import { type MadePart, type MadeWord, NeedsShell, type Scope, type Step } from './plan.ts'

/** Variables that every command finds in its environment. They hold no secret. */
const ENVIRONMENT: ReadonlySet<string> = new Set(['HOME', 'PATH', 'USER', 'LOGNAME', 'LANG', 'TERM', 'TZ'])
const NAME = /^\$\{?([A-Za-z_]\w*)\}?$/

type Expansion = Extract<WordPart, { type: 'SimpleExpansion' | 'ParameterExpansion' | 'CommandExpansion' }>
const EXPANSIONS: ReadonlySet<string> = new Set(['SimpleExpansion', 'ParameterExpansion', 'CommandExpansion'])
const isExpansion = (part: WordPart): part is Expansion => EXPANSIONS.has(part.type)

/** Reads the steps of a script that stands inside a word. */
export type ReadInner = (script: Script, scope: Scope) => readonly Step[]

/** Forms of a plan that does nothing but read. `text` is what all positions speak of. */
export function readingScope(text: string, readInner: ReadInner, variables: readonly string[] = []): Scope {
  const scope: Scope = {
    reading: true,
    make: (node) => makeWord(node, (part) => readExpansion(part, text, variables, (script) => readInner(script, scope))),
    inLoop: (name) => readingScope(text, readInner, [...variables, name]),
  }
  return scope
}

type ReadExpansion = (part: Expansion) => MadePart

/** One expansion alone, or texts and expansions that are all in double quotes: any other mixture is split in its own way. */
function makeWord({ parts = [] }: WordNode, read: ReadExpansion): MadeWord | undefined {
  const [first] = parts
  if (parts.length === 1 && isExpansion(first!)) return { parts: [read(first)], split: true }
  const isQuoted = (part: WordPart): boolean => part.type === 'DoubleQuoted' && part.parts.some((inner) => isExpansion(inner))
  if (!parts.some(isQuoted) || !parts.every(({ type }) => type === 'DoubleQuoted' || type === 'SingleQuoted')) return undefined
  return { parts: parts.flatMap((part) => readQuoted(part, read)), split: false }
}

function readQuoted(part: WordPart, read: ReadExpansion): readonly MadePart[] {
  if (part.type === 'SingleQuoted') return [{ kind: 'text', text: part.value }]
  if (part.type !== 'DoubleQuoted') return []
  return part.parts.map((inner: DoubleQuotedChild): MadePart => {
    if (inner.type === 'Literal') return { kind: 'text', text: inner.value }
    if (!isExpansion(inner)) throw new NeedsShell('arithmetic')
    return read(inner)
  })
}

function readExpansion(
  part: Expansion, text: string, variables: readonly string[], readSteps: (script: ParsedScript) => readonly Step[],
): MadePart {
  if (part.type === 'CommandExpansion') {
    const { script, pos, end } = part
    // What stands in back-quotes is decoded first, so that positions in it mean another text.
    if (script === undefined || text.slice(pos, pos + 2) !== '$(' || script.source !== undefined) {
      throw new NeedsShell('a command whose output becomes part of another')
    }
    const steps = readSteps(script)
    if (!nothingLost(text, script, { pos: pos + 2, end: end - 1, reading: true })) throw new NeedsShell('a part of it has no meaning')
    return { kind: 'output', steps }
  }
  if (part.text === '$?' || part.text === '${?}') return { kind: 'status' }
  const [, name] = NAME.exec(part.text) ?? []
  if (name === undefined || !(ENVIRONMENT.has(name) || variables.includes(name))) throw new NeedsShell(`the variable ${part.text}`)
  return { kind: 'variable', name }
}

/** What may stand between the words of a plan: blanks, comments, and the operators that a plan has. Each text is read in one way only. */
const BETWEEN = /^(?:[ \t\n;]|\\\n|&&|\|&?|#[^\n]*(?:\n|$))*$/
/** Of a plan that only reads, also the words of its further forms. */
const BETWEEN_READING = /^(?:[ \t\n;()]|\\\n|&&|\|&?|#[^\n]*(?:\n|$)|\b(?:for|in|do|done|while|time)\b)*$/

interface Part {
  readonly pos: number
  readonly end: number
  readonly reading: boolean
}

/**
 * Whether every character of a text is accounted for. The parser forgives, and may leave out what it does not expect without
 * saying so; then it would be run without it.
 */
export function nothingLost(text: string, script: Script, { pos, end, reading }: Part = { pos: 0, end: text.length, reading: false }): boolean {
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
  return (reading ? BETWEEN_READING : BETWEEN).test(rest.slice(pos, end).join(''))
}
