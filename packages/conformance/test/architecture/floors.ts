import { readdirSync } from 'node:fs'
import { join, posix } from 'node:path'
import { sourceFiles, type SourceFile } from './source-files.ts'

/**
 * The folders below `src` of each package, from top to bottom. A file imports from its own floor or a lower one.
 * Folders that share a floor do not import each other. `*` means the unlisted files at the root of `src`; without it
 * they are the top floor.
 */
const FLOORS: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
  'packages/kit': ['schema', '*'],
  'packages/contract': ['dialects', 'ports', 'author', 'policy', 'validation', 'model'],
  'packages/loader': [
    'pack', 'install', 'load', ['prove', 'trust'], 'cache', 'describe', 'discover', 'config', ['lock', 'signature'],
    ['files', 'schema'], 'model',
  ],
  'packages/host': ['sessions', 'calls', 'policy', 'extensions', 'records', 'model'],
  'packages/store': ['*', 'sqlite', 'records'],
  'packages/tools-bundled': [
    '*',
    [
      'apply-patch', 'list', 'repo-overview',
      'bash', 'edit', 'glob', 'grep', 'lsp', 'prompts', 'question', 'read', 'skill', 'task', 'todo', 'tool-search',
      'web-fetch',
      'web-search', 'write',
      'http-request', 'pdf-read', 'plan',
      'git', 'repo-clone', 'test-runner',
      'undo',
      'code-exec', 'code-mode',
    ],
    'model',
  ],
  'packages/broker': ['*', 'shell', 'net', ['fs', 'secrets', 'walls'], ['hosts', 'process'], 'model'],
  'packages/sandbox': ['*', ['session', 'worker'], ['extension', 'pool'], ['jail', 'process'], ['os', 'wire']],
  'packages/bridges': [
    ['acp', 'deepseek.ts', 'lsp', 'mcp', 'openapi'],
    [
      'ai-sdk', 'anthropic', 'claude-agent', 'connected', 'gemini', 'langchain', 'llamaindex', 'mastra', 'openai', 'openai-agents', 'otel.ts',
      'text',
    ],
    ['models', 'questions'],
  ],
  'packages/conformance': ['index.ts', 'ports', '*', 'specifications'],
  'packages/bulkhead': [['bin.ts', 'testing'], 'cli', 'index.ts', 'facade'],
  'packages/create-bulkhead': ['bin.ts'],
  bench: ['*', 'subjects', ['harness', 'peers'], 'loads'],
  'apps/demo': ['main.ts', 'demo.ts', 'scenarios.ts', '*'],
}

/** The imports of each file. Paths start at the root of the workspace. */
type ImportGraph = ReadonlyMap<string, readonly string[]>

function importGraph(files: readonly SourceFile[]): ImportGraph {
  const known = new Set(files.map(({ path }) => path))
  return new Map(files.map(({ path, imports }) => [
    path,
    imports.filter((name) => name.startsWith('.')).map((name) => posix.join(posix.dirname(path), name))
      .filter((to) => known.has(to)),
  ]))
}

const graphOf = (root: string, name: string): ImportGraph => importGraph(sourceFiles(root, `${name}/src`))

/** One line for each cycle, type imports included. */
export const findCycles = (root: string): readonly string[] => Object.keys(FLOORS).flatMap((name) =>
  circles(graphOf(root, name)).map((circle) => `${circle.toSorted().join(', ')} import each other in a circle`))

/** Tarjan's strongly connected components that have more than one file, or a file that imports itself. */
function circles(graph: ImportGraph): readonly (readonly string[])[] {
  const found: string[][] = []
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const visit = (file: string): void => {
    order.set(file, order.size)
    lowest.set(file, order.get(file)!)
    open.push(file)
    for (const next of graph.get(file) ?? []) {
      if (!order.has(next)) visit(next)
      if (open.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!))
    }
    if (lowest.get(file) !== order.get(file)) return
    const circle = open.splice(open.indexOf(file))
    if (circle.length > 1 || graph.get(file)!.includes(file)) found.push(circle)
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return found
}

/** One line for each import from a lower to a higher floor, and for each folder without a floor. */
export const findUpwardImports = (root: string): readonly string[] => Object.entries(FLOORS)
  .flatMap(([name, floors]) => {
  const source = `${name}/src/`
  /** The folder of a file, or the file itself if it is listed. */
  const room = (file: string): string => {
    const [first = '', ...rest] = file.slice(source.length).split('/')
    return rest.length > 0 || floors.flat().includes(first) ? first : '*'
  }
  const floorOf = (file: string): number => floors.findIndex((floor) => [floor].flat().includes(room(file)))
  const isUpward = (from: string, to: string): boolean => room(from) !== room(to) && floorOf(to) <= floorOf(from)
  const graph = graphOf(root, name)
  const homeless = [...graph.keys()].map(room).filter((one) => one !== '*' && !floors.flat().includes(one))
  const upward = [...graph].flatMap(([from, targets]) =>
    targets.filter((to) => isUpward(from, to)).map((to) => `${from} imports ${to}, which is not below it`))
  return [...[...new Set(homeless)].map((one) => `${source}${one} has no floor`), ...upward]
})

/** One line for each package without floors. */
export const findUnordered = (root: string): readonly string[] => readdirSync(join(root, 'packages'))
  .filter((name) => !Object.hasOwn(FLOORS, `packages/${name}`)).map((name) => `packages/${name} is not in floors.ts`)
