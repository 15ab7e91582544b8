import { hash } from 'node:crypto'
import type { ArgumentsReader } from '@bulkhead/contract'
import type { AnyNode } from 'acorn'
import { programModule } from '../model/programs/program-files.ts'
import { parser } from '../model/programs/syntax.ts'

/**
 * The tools that a program names, as an upper bound: `all` if it uses `tools` in another way than `tools.NAME`,
 * `tools['NAME']` or `const { NAME } = tools`, and for a program that cannot be parsed.
 */
export function namedTools(code: string): readonly string[] | 'all' {
  let open: (readonly [node: AnyNode, names: readonly string[] | undefined])[]
  try {
    open = [[parser().parse(programModule(code, true), { ecmaVersion: 'latest', sourceType: 'module' }), undefined]]
  } catch {
    return 'all'
  }
  const found = new Set<string>()
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [node, names] = next
    const { name } = node.type === 'Identifier' ? node : NO_NAME
    if (name === 'eval' || (name === 'tools' && names === undefined)) return 'all'
    if (name === 'tools') for (const each of names!) found.add(each)
    for (const part of partsOf(node)) open.push([part, namesAt(part, node)])
  }
  return [...found].toSorted()
}

const NOTHING: readonly string[] = []
const NO_NAME: { readonly name?: undefined } = {}

/** The names that this use of `tools` takes from it; undefined if it may take any. Empty for another meaning. */
function namesAt(part: AnyNode, whole: AnyNode): readonly string[] | undefined {
  switch (whole.type) {
    case 'MemberExpression':
      if (part === whole.object) return memberOf(whole.property, whole.computed)
      return whole.computed ? undefined : NOTHING
    case 'VariableDeclarator':
      return part === whole.init && whole.id.type === 'ObjectPattern' ? keysOf(whole.id.properties) : undefined
    case 'Property':
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return part === whole.key && !whole.computed && part !== whole.value ? NOTHING : undefined
    case 'ArrowFunctionExpression':
      // The parameter of the program itself.
      return whole.start === HEAD_START && whole.params.includes(part as never) ? NOTHING : undefined
    default:
      return undefined
  }
}

const HEAD_START = 'export default '.length

function memberOf(property: AnyNode, computed: boolean): readonly string[] | undefined {
  if (!computed) return property.type === 'Identifier' ? [property.name] : undefined
  return property.type === 'Literal' && typeof property.value === 'string' ? [property.value] : undefined
}

function keysOf(properties: readonly AnyNode[]): readonly string[] | undefined {
  const names = properties.map((property) =>
    property.type === 'Property' && !property.computed ? memberName(property.key) : undefined)
  return names.every((name) => name !== undefined) ? names : undefined
}

function memberName(key: AnyNode): string | undefined {
  if (key.type === 'Identifier') return key.name
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined
}

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && typeof (value as { readonly type?: unknown }).type === 'string'

const partsOf = (node: AnyNode): readonly AnyNode[] =>
  Object.values(node).flatMap((value: unknown) => Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [])

/** Approvals cover one program. What it does is decided call by call. */
export const readCodeModeArguments: ArgumentsReader = ({ code }) => {
  const text = String(code)
  const key = `program sha256:${hash('sha256', text)}`
  const tools = namedTools(text)
  const touches = tools === 'all' ? ['calls any tool of the session'] : tools.map((name) => `calls ${name}`)
  return { key, subjects: [{ key }], touches, asks: [], denies: [], tools }
}
