// The first lines of every worker, handed over as text: they need no other file of ours. The thread has no right to
// read files, so the rest of its code comes from memory too.
import { registerHooks } from 'node:module'
import { workerData } from 'node:worker_threads'
import type { WorkerStart } from '../wire/worker-start.ts'

const { modules, entry } = workerData as WorkerStart
const byUrl = new Map(modules.map((module) => [module.url, { source: module.source, imports: new Map(module.imports) }]))

registerHooks({
  resolve(specifier, context, next) {
    const url = byUrl.has(specifier) ? specifier : byUrl.get(context.parentURL ?? '')?.imports.get(specifier)
    return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    const module = byUrl.get(url)
    return module === undefined ? next(url, context) : { format: 'module', source: module.source, shortCircuit: true }
  },
})

await import(entry)
