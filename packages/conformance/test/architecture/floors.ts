import { readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { sourceFiles } from './source-files.ts'

type Floors = readonly (string | readonly string[])[]

/** The tools do not import each other, so every folder beside `model` shares a floor. */
const TOOLS = readdirSync(join(import.meta.dirname, '../../../tools-bundled/src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'model').map(({ name }) => name)

/**
 * The folders below `src` of each package, from top to bottom. A file imports from its own floor or a lower one.
 * Folders that share a floor do not import each other. `*` means the unlisted files at the root of `src`; without it
 * they are the top floor.
 */
const FLOORS: Readonly<Record<string, Floors>> = {
  'packages/kit': ['schema', '*'],
  'packages/contract': ['audit', 'dialects', 'ports', 'author', 'policy', 'validation', 'model'],
  'packages/loader': [
    'pack', 'install', 'load', ['prove', 'trust'], 'cache', 'describe', 'discover', 'config', ['lock', 'signature'],
    ['files', 'schema'], 'model',
  ],
  'packages/host': ['sessions', 'calls', 'policy', 'extensions', 'records', 'model'],
  'packages/store': ['*', 'sqlite', 'records'],
  'packages/store-postgres': [
    '*', 'tenants', 'placements', ['records', 'work'], 'schema.ts', ['connection', 'migrations'],
  ],
  'packages/tools-bundled': ['*', TOOLS, 'model'],
  'packages/broker': ['*', 'shell', 'net', ['fs', 'secrets', 'walls'], ['hosts', 'process'], 'model'],
  'packages/sandbox': ['*', ['session', 'worker'], ['extension', 'pool'], ['jail', 'process'], ['os', 'wire']],
  'packages/bridges': [
    ['acp', 'deepseek.ts', 'lsp', 'mcp', 'openapi'],
    [
      'ai-sdk', 'anthropic', 'claude-agent', 'connected', 'gemini', 'langchain', 'llamaindex', 'mastra', 'openai',
      'openai-agents', 'otel.ts',
      'text',
    ],
    ['models', 'questions'],
  ],
  'packages/conformance': ['index.ts', 'ports', '*', 'specifications'],
  'packages/inspector': [
    'index.ts', ['links', 'page', 'server'], 'passkeys', ['bundle', 'plain', 'protocol.ts'], 'protocol',
  ],
  'packages/workers': ['index.ts', ['caller', 'worker'], 'messages', 'ticket', 'keys'],
  'packages/bulkhead': [['bin.ts', 'testing'], 'cli', 'index.ts', 'facade'],
  'packages/create-bulkhead': ['bin.ts'],
  'bench': ['*', 'subjects', ['harness', 'peers'], 'loads'],
  'apps/demo': ['main.ts', 'demo.ts', 'scenarios.ts', '*'],
}

/**
 * The same for each deeper folder that has files both above and below its folders. The order in any other folder
 * follows from its imports: they may not form a circle, and its own files count as one.
 */
const INNER_FLOORS: Readonly<Record<string, Floors>> = {
  'packages/bridges/src/mcp/connecting': [
    'servers.ts', 'connection.ts', 'connection-options.ts', 'transport', 'catalog', '*', 'server-entry.ts', 'sign-in',
    'server-messages.ts',
  ],
  'packages/bridges/src/openapi': ['*', ['calling', 'sources'], 'credentials.ts', 'reading'],
  'packages/broker/src/fs': ['fs.ts', 'snapshot', ['search', 'undo'], '*'],
  'packages/broker/src/net': ['inner-relay.ts', 'relay.ts', 'keys', '*'],
  'packages/bulkhead/src/cli': ['main.ts', ['calls', 'packages', 'policy', 'publish', 'servers', 'system'], '*'],
  'packages/bulkhead/src/facade': [
    'library.ts', 'inspector', '*', ['bundling', 'capture', 'passkeys', 'policy', 'replay', 'terminal'], 'folders.ts',
  ],
  'packages/inspector/src/server': ['*', 'events', ['calls', 'waiting'], 'access', ['fault.ts', 'inspected.ts']],
  'packages/sandbox/src/worker/shims': ['*', 'crypto', 'host.ts'],
  'packages/store/src/sqlite': ['try-store.ts', 'open-sqlite-store.ts', 'sqlite-store.ts', ['audit', 'work'], '*'],
}

/** Sources outside of `src`. */
const MORE_SOURCES = ['packages/sandbox/corpus']

const SOURCES = [...Object.keys(FLOORS).map((name) => `${name}/src`), ...MORE_SOURCES]
const WRITTEN: ReadonlyMap<string, Floors> = new Map([
  ...Object.entries(FLOORS).map(([name, floors]) => [`${name}/src`, floors] as const), ...Object.entries(INNER_FLOORS),
])

/** Nodes by name, and what each points to. */
type Graph = ReadonlyMap<string, readonly string[]>

/** The imports of each file. Paths start at the root of the workspace. */
function importGraph(root: string, source: string): Graph {
  const files = sourceFiles(root, source)
  const known = new Set(files.map(({ path }) => path))
  return new Map(files.map(({ path, imports }) => [
    path,
    imports.filter((name) => name.startsWith('.')).map((name) => posix.join(posix.dirname(path), name))
      .filter((to) => known.has(to)),
  ]))
}

/** One line for each cycle, type imports included. */
export const findCycles = (root: string): readonly string[] => SOURCES.flatMap((source) =>
  circles(importGraph(root, source)).map((circle) => `${circle.toSorted().join(', ')} import each other in a circle`))

/** Tarjan's strongly connected components that have more than one node, or a node that points to itself. */
function circles(graph: Graph): readonly (readonly string[])[] {
  const found: string[][] = []
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const visit = (node: string): void => {
    order.set(node, order.size)
    lowest.set(node, order.get(node)!)
    open.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next)
      if (open.includes(next)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(next)!))
    }
    if (lowest.get(node) !== order.get(node)) return
    const circle = open.splice(open.indexOf(node))
    if (circle.length > 1 || graph.get(node)?.includes(node)) found.push(circle)
  }
  for (const node of graph.keys()) if (!order.has(node)) visit(node)
  return found
}

/** One line for each import that points up or closes a circle of folders, and for each folder without a floor. */
export const findUpwardImports = (root: string): readonly string[] => SOURCES.flatMap((source) => {
  const graph = importGraph(root, source)
  return foldersOf(source, graph).flatMap((folder) => {
    const floors = WRITTEN.get(folder)
    const inside = importsInside(folder, graph, floors?.flat() ?? [])
    return floors ? upward(folder, floors, inside) : roundabout(folder, inside)
  })
})

/** A folder of sources, and every folder below it. */
function foldersOf(source: string, graph: Graph): readonly string[] {
  const folders = new Set([source])
  for (const file of graph.keys()) {
    for (let folder = posix.dirname(file); !folders.has(folder); folder = posix.dirname(folder)) folders.add(folder)
  }
  return [...folders]
}

/** A file in a folder. Its room is the folder below, the file itself if it has a floor of its own, or `*`. */
interface Housed {
  readonly file: string
  readonly room: string
}

type HousedImports = ReadonlyMap<Housed, readonly Housed[]>

/** Each file in a folder, with those it imports from other rooms of the folder. */
function importsInside(folder: string, graph: Graph, listed: readonly string[]): HousedImports {
  const isInside = (file: string): boolean => file.startsWith(`${folder}/`)
  const housed = (file: string): Housed => {
    const [first = '', ...rest] = file.slice(folder.length + 1).split('/')
    return { file, room: rest.length > 0 || listed.includes(first) ? first : '*' }
  }
  return new Map([...graph].filter(([file]) => isInside(file)).map(([file, targets]) => {
    const from = housed(file)
    return [from, targets.filter(isInside).map(housed).filter(({ room }) => room !== from.room)]
  }))
}

function upward(folder: string, floors: Floors, inside: HousedImports): readonly string[] {
  const floorOf = ({ room }: Housed): number => floors.findIndex((floor) => [floor].flat().includes(room))
  const homeless = new Set(
    [...inside.keys()].filter((one) => one.room !== '*' && floorOf(one) < 0).map(({ room }) => room),
  )
  return [
    ...[...homeless].map((room) => `${folder}/${room} has no floor`),
    ...[...inside].flatMap(([from, targets]) => targets.filter((to) => floorOf(to) <= floorOf(from))
      .map((to) => `${from.file} imports ${to.file}, which is not below it`)),
  ]
}

/** One line for each circle of rooms, with an import for each step. */
function roundabout(folder: string, inside: HousedImports): readonly string[] {
  const steps = [...inside].flatMap(([from, targets]) => targets.map((to) => ({ from, to })))
  const rooms = Map.groupBy(steps, ({ from }) => from.room)
  const graph = new Map([...rooms].map(([room, own]) => [room, own.map(({ to }) => to.room)]))
  return circles(graph).map((circle) => {
    const closing = steps.filter(({ from, to }) => circle.includes(from.room) && circle.includes(to.room))
    const examples = [...Map.groupBy(closing, ({ from, to }) => `${from.room} → ${to.room}`).values()].map(([step]) =>
      `${step!.from.file.slice(folder.length + 1)} imports ${step!.to.file.slice(folder.length + 1)}`)
    return `in ${folder}, ${circle.toSorted().join(' and ')} import each other: ${examples.toSorted().join(', ')}`
  })
}

/** One line for each package without floors. */
export const findUnordered = (root: string): readonly string[] => readdirSync(join(root, 'packages'))
  .filter((name) => !Object.hasOwn(FLOORS, `packages/${name}`)).map((name) => `packages/${name} is not in floors.ts`)
