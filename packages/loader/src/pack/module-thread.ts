import { builtinModules } from 'node:module'
import { runInNewContext, SourceTextModule } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'

// A thread, because parsing modules needs a Node flag at start. Nothing is linked or run.

export interface ModuleRequest {
  readonly main: string
  /** The source of modules and JSON files. */
  readonly sources: ReadonlyMap<string, string>
  /** The paths of all files. */
  readonly names: ReadonlySet<string>
}

export type ModuleFault =
  | { readonly kind: 'syntax'; readonly path: string; readonly line: string | null; readonly message: string }
  /** The import is not in the package. */
  | { readonly kind: 'import'; readonly path: string; readonly specifier: string }
  /** A compartment cannot load the imported file. */
  | { readonly kind: 'form'; readonly path: string; readonly specifier: string }

const { main, sources, names } = workerData as ModuleRequest
const PROVIDED: ReadonlySet<string> = new Set(['@bulkhead/contract', '@bulkhead/contract/author', ...builtinModules])

/** The file types that a compartment loads. */
const IMPORTABLE = /\.(?:m?js|json|wasm)$/

/** The URL of a file in a compartment. Escapes only characters with a meaning in URLs. */
const urlOf = (path: string): string =>
  new URL(`./${path.replaceAll(/[%?#\s]/g, encodeURIComponent)}`, 'tool://package/').href
const pathsByUrl = new Map([...names].map((path) => [urlOf(path), path]))

/** Resolves an import like a compartment does. */
const resolveImport = (specifier: string, from: string): string | undefined =>
  /^\.{0,2}\//.test(specifier) ? pathsByUrl.get(URL.parse(specifier, urlOf(from))?.href ?? '') : undefined

function findFault(): ModuleFault | null {
  const reached = new Set([main])
  for (const path of reached) {
    for (const specifier of importsOf(path)) {
      if (PROVIDED.has(specifier) || specifier.startsWith('node:')) continue
      const target = resolveImport(specifier, path)
      if (target === undefined) return { kind: 'import', path, specifier }
      if (!IMPORTABLE.test(target)) return { kind: 'form', path, specifier }
      reached.add(target)
    }
  }
  return null
}

let parsed = main

function importsOf(path: string): readonly string[] {
  const source = sources.get(path)
  if (source === undefined) return []
  parsed = path
  if (path.endsWith('.json')) {
    JSON.parse(source)
    return []
  }
  return new SourceTextModule(source, { identifier: 'module' }).moduleRequests.map(({ specifier }) => specifier)
}

try {
  // Called from a script, because Node adds the line only to errors thrown there.
  parentPort!.postMessage(runInNewContext('findFault()', { findFault }))
} catch (error) {
  const { name, message, stack = '' } = error as Error
  const line = /^module:(\d+)\n/.exec(stack)?.[1] ?? null
  // Other errors are limits of this thread, such as memory.
  parentPort!.postMessage(
    name === 'SyntaxError' ? { kind: 'syntax', path: parsed, line, message } satisfies ModuleFault : null,
  )
}
