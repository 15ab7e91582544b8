import type { WrittenPlace } from '@bulkhead/contract'

/** A node of a syntax tree, as far as it is read here. */
interface Node {
  readonly type: string
  readonly start: number
  readonly [member: string]: unknown
}

/** Keys of a tool in the code, by their names in the manifest. */
const IN_CODE: ReadonlyMap<string, string> = new Map([['inputSchema', 'input'], ['outputSchema', 'output']])

/**
 * The place in the code that declares a key of the manifest, or the nearest one around it. `steps` lead to the key, with
 * a tool by its name. Only parses: what is computed is not found. undefined if nothing is.
 */
export async function declaredPlace(
  texts: ReadonlyMap<string, string>, steps: readonly string[],
): Promise<WrittenPlace | undefined> {
  const { parseAst } = await import('rolldown/parseAst')
  const named = new Map<string, [file: string, node: Node]>()
  const extensions: [file: string, node: Node][] = []
  for (const [file, text] of texts) {
    for (const node of nodesOf(treeOf(parseAst, text))) {
      const object = objectOf(node['init'])
      const { name } = (node['id'] ?? {}) as { readonly name?: unknown }
      if (node.type === 'VariableDeclarator' && object && typeof name === 'string') named.set(name, [file, object])
      if (node.type === 'ObjectExpression' && objectOf(member(node, 'tools')?.['value'])) extensions.push([file, node])
    }
  }
  for (const [file, extension] of extensions) {
    const found = lookUp(extension, file, steps, named)
    if (found === undefined) continue
    const before = texts.get(found.file)!.slice(0, found.at).split('\n')
    return { file: found.file, line: before.length, column: before.at(-1)!.length + 1 }
  }
  return undefined
}

/** Follows the steps as far as they are written. undefined if not even the first one is. */
function lookUp(
  extension: Node, inFile: string, steps: readonly string[], named: ReadonlyMap<string, [file: string, node: Node]>,
): { readonly file: string; readonly at: number } | undefined {
  let [file, at, object]: [string, number | undefined, Node | undefined] = [inFile, undefined, extension]
  for (const [index, step] of steps.entries()) {
    const isKeyOfTool = steps[0] === 'tools' && index === 2
    const property: Node | undefined = object && member(object, (isKeyOfTool && IN_CODE.get(step)) || step)
    if (property === undefined) break
    const value = property['value'] as Node
    const elsewhere = value.type === 'Identifier' ? named.get(value['name'] as string) : undefined
    file = elsewhere?.[0] ?? file
    object = elsewhere?.[1] ?? objectOf(value)
    at = elsewhere?.[1].start ?? property.start
  }
  return at === undefined ? undefined : { file, at }
}

function treeOf(parse: typeof import('rolldown/parseAst').parseAst, text: string): unknown {
  try {
    return parse(text, { lang: 'ts' })
  } catch {
    return undefined
  }
}

function* nodesOf(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value) yield value as Node
  for (const child of Object.values(value)) yield* nodesOf(child)
}

/** An object as it is written, or as the first argument of a function such as `defineTool`. */
function objectOf(value: unknown): Node | undefined {
  const { type, arguments: [first] = [] } = (value ?? {}) as Partial<Node> & { readonly arguments?: readonly unknown[] }
  if (type === 'ObjectExpression') return value as Node
  return type === 'CallExpression' ? objectOf(first) : undefined
}

function member({ properties }: Node, name: string): Node | undefined {
  return (properties as readonly Node[]).find(({ key }) => {
    const { name: identifier, value } = (key ?? {}) as { readonly name?: unknown; readonly value?: unknown }
    return (identifier ?? value) === name
  })
}
