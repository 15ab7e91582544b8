import { builtinModules } from 'node:module'
import { runInNewContext, SourceTextModule } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'
import type { ModuleFault, ModuleRequest } from './parse-modules.ts'

// Parsing needs a flag of Node's that a process is started with, or a thread. Nothing of what is parsed is linked or run.

const { main, sources, names } = workerData as ModuleRequest
const PROVIDED: ReadonlySet<string> = new Set(['@bulkhead/contract', '@bulkhead/contract/author', ...builtinModules])

/** As a compartment tells what it loads. */
const IMPORTABLE = /\.(?:m?js|json|wasm)$/

/** What a relative import of it becomes: only what would mean something else there is escaped. */
const urlOf = (path: string): string => new URL(`./${path.replaceAll(/[%?#\s]/g, encodeURIComponent)}`, 'tool://package/').href
const pathsByUrl = new Map([...names].map((path) => [urlOf(path), path]))

/** By the rules of a compartment: the file that an import means, or undefined where there is none. */
const fileMeant = (specifier: string, from: string): string | undefined =>
  /^\.{0,2}\//.test(specifier) ? pathsByUrl.get(URL.parse(specifier, urlOf(from))?.href ?? '') : undefined

function findFault(): ModuleFault | null {
  const reached = new Set([main])
  for (const path of reached) {
    for (const specifier of importsOf(path)) {
      if (PROVIDED.has(specifier) || specifier.startsWith('node:')) continue
      const meant = fileMeant(specifier, path)
      if (meant === undefined) return { kind: 'import', path, specifier }
      if (!IMPORTABLE.test(meant)) return { kind: 'form', path, specifier }
      reached.add(meant)
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
  // From inside a script: of what such a one throws, and of nothing else, Node tells the line.
  parentPort!.postMessage(runInNewContext('findFault()', { findFault }))
} catch (error) {
  const { name, message, stack = '' } = error as Error
  const line = /^module:(\d+)\n/.exec(stack)?.[1] ?? null
  // Anything else is a bound of this thread, and another may have more room.
  parentPort!.postMessage(name === 'SyntaxError' ? { kind: 'syntax', path: parsed, line, message } satisfies ModuleFault : null)
}
