import type { JsonObject } from '@bulkhead/kit/json'
import { commentOf, memberName, typeOfSchema } from '@bulkhead/kit/schema-types'
import { visibleText } from '@bulkhead/kit/text'
import type { SearchedTool } from '../model/find-tools.ts'

/** A tool that a program can call. */
export interface ProgramFunction extends SearchedTool {
  readonly outputSchema?: JsonObject
}

/** Longer declarations are left out of the description, and the program asks for those it needs. */
const DECLARATION_CHARS = 24_000
const COMMENT_CHARS = 1_000
const SUMMARY_CHARS = 120

/** A program computes itself, and searches with `catalog`. */
const NOT_DECLARED: ReadonlySet<string> = new Set(['code_exec', 'tool_search'])

interface Declaration {
  readonly types: readonly string[]
  readonly member: string
}

const known = new WeakMap<ProgramFunction, Declaration>()

/** The TypeScript declaration of tools as functions of the object `tools`. */
export function declareTools(tools: readonly ProgramFunction[]): string {
  const declarations = tools.map(declarationOf)
  const members = declarations.map(({ member }) => member.replaceAll(/^/gm, '  ')).join('\n')
  return [...declarations.flatMap(({ types }) => types), `declare const tools: {\n${members}\n}`].join('\n')
}

function declarationOf(tool: ProgramFunction): Declaration {
  const cached = known.get(tool)
  if (cached !== undefined) return cached
  const prefix = tool.name.replaceAll('-', '_')
  const args = typeOfSchema(tool.inputSchema, prefix)
  const result = tool.outputSchema === undefined ? undefined : typeOfSchema(tool.outputSchema, `${prefix}_result`)
  const optional = hasRequired(tool.inputSchema) ? '' : '?'
  const declaration = {
    types: [...args.declarations, ...result?.declarations ?? []],
    member: `${commentOf(tool.description, '', COMMENT_CHARS)}${memberName(tool.name)}(args${optional}: ${args.type}): `
      + `Promise<${result?.type ?? 'any'}>`,
  }
  known.set(tool, declaration)
  return declaration
}

const hasRequired = ({ required }: JsonObject): boolean => Array.isArray(required) && required.length > 0

/** The part of the description of `code_mode` that depends on the session: its tools, or their names if they are many. */
export function describeTools(all: readonly ProgramFunction[]): string {
  const tools = all.filter(({ name }) => !NOT_DECLARED.has(name))
  const declarations = declareTools(tools)
  if (declarations.length <= DECLARATION_CHARS) return declarations
  const lines = tools.map(({ name, description }) => `${name}: ${summary(description)}`)
  const shown = fitting(lines)
  const rest = lines.length - shown.length
  return '`await catalog.describe(name)` returns the declaration of a function of `tools`. '
    + '`await catalog.search(words)` finds functions by what they do.\n'
    + shown.join('\n') + (rest === 0 ? '' : `\nand ${rest} more`)
}

const summary = (description: string): string => {
  const [first = ''] = visibleText(description.slice(0, 500).replaceAll(/\s+/g, ' ').trim()).split(/(?<=\.)\s/)
  return first.length <= SUMMARY_CHARS ? first : `${first.slice(0, SUMMARY_CHARS - 1).toWellFormed()}…`
}

function fitting(lines: readonly string[]): readonly string[] {
  let chars = 0
  const end = lines.findIndex((line) => (chars += line.length + 1) > DECLARATION_CHARS)
  return end < 0 ? lines : lines.slice(0, end)
}
