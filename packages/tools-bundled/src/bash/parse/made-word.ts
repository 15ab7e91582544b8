import type { DoubleQuotedChild, ParsedScript, Script, Word as WordNode, WordPart } from 'unbash'
import { NeedsShell } from './needs-shell.ts'
import { nothingLost } from './nothing-lost.ts'
import type { MadePart, MadeWord, Step } from './plan.ts'
import type { Scope } from './scope.ts'

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
