import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { Worker } from 'node:worker_threads'
import type { CompiledScript, WorkerStart } from '../wire/protocol.ts'
import { threadOptions } from './hull.ts'
import { exportsOf, linkedScript, SourceGraph, type SourceModule } from './linked-script.ts'

/**
 * The code of child processes and threads, as source text. They get it from the host, so they need no right to read
 * files.
 */
export interface Image {
  /** For the main thread of a child process. */
  readonly hull: string
  /** The boot script of a thread, as source text and as a file. It runs `script`. */
  readonly boot: string
  readonly bootFile: string
  /** For the thread of a compartment. `warmImage` replaces it by one that starts faster. */
  script: CompiledScript
  /** The only module of this project that extensions may import. */
  readonly author: string
  /** The shims of globals and modules, for extensions that declare a capability. */
  readonly shims: string
}

const { resolve: resolvePackage } = createRequire(import.meta.url)

let image: Promise<Image> | undefined
let warmed: Promise<void> | undefined

/** Built once per process; a failure is tried again. */
export function loadImage(): Promise<Image> {
  image ??= buildImage().catch((error: unknown) => {
    image = undefined
    throw error
  })
  return image
}

/** Makes later starts faster. Runs once per process, after the first start. Never rejects. */
export function warmImage(): Promise<void> {
  warmed ??= loadImage().then(async (loaded) => {
    loaded.script = await warmScript(loaded) ?? loaded.script
  }).catch(() => undefined)
  return warmed
}

/** `rewrite` gets the name and the source of each file, and returns the source to use. */
export async function buildImage(rewrite = (_name: string, text: string): string => text): Promise<Image> {
  const hull = fileURLToPath(new URL('../worker/hull-main.ts', import.meta.url))
  const worker = fileURLToPath(new URL('../worker/main.ts', import.meta.url))
  const shims = fileURLToPath(new URL('../worker/shims/library.ts', import.meta.url))
  const bootFile = fileURLToPath(new URL('../../thread.cjs', import.meta.url))
  const author = resolvePackage('@bulkhead/contract/author')
  const graph = await SourceGraph.read([hull, worker, author, shims], rewrite)
  return {
    hull: linkedScript(graph.inOrder(hull)),
    boot: await readFile(bootFile, 'utf8'),
    bootFile,
    script: compiled(graph.inOrder(worker)),
    author: asModule(graph.inOrder(author)),
    shims: asFunction(graph.inOrder(shims), `const { ${CAPTURED.join(', ')} } = globalThis\n`),
  }
}

function compiled(modules: readonly SourceModule[]): CompiledScript {
  const text = asFunction(modules)
  return { text, cache: new Script(text, { filename: 'compartment' }).createCachedData() }
}

const asFunction = (modules: readonly SourceModule[], before = ''): string =>
  `(function (require) {'use strict'\n${before}${linkedScript(modules)}\nreturn ${lastOf(modules)}\n})`

/** Globals that shims use. They are read once, so that those for native modules cannot get others from an extension. */
const CAPTURED = [
  'Array', 'ArrayBuffer', 'Boolean', 'DOMException', 'DataView', 'Error', 'Infinity', 'JSON', 'Map', 'Math', 'Number',
  'Object', 'Promise', 'RangeError', 'Reflect', 'Set', 'String', 'Symbol', 'TextDecoder', 'TypeError', 'URL',
  'Uint8Array', 'clearTimeout', 'crypto', 'decodeURIComponent', 'performance', 'process', 'queueMicrotask',
  'setImmediate', 'setTimeout',
]

function asModule(modules: readonly SourceModule[]): string {
  return `${linkedScript(modules)}\nexport const { ${exportsOf(modules.at(-1)!.text).join(', ')} } = ${lastOf(modules)}`
}

const lastOf = (modules: readonly SourceModule[]): string => `m${modules.length - 1}`

const WARM_UP_HEAP_MB = 64

/**
 * The script with V8's code cache after a warm-up, taken from a thread that is ended afterwards. Later threads compile
 * almost nothing. Undefined when it fails, which does no harm. Never rejects.
 */
export async function warmScript({ boot, script, author }: Image): Promise<CompiledScript | undefined> {
  const start: WorkerStart = { script, author, spare: true, readable: [], inHull: false }
  const worker = new Worker(boot, {
    ...threadOptions({ heapMb: WARM_UP_HEAP_MB }), eval: true, stdout: true, stderr: true,
    workerData: { ...start, tellsCache: true },
  })
  const cache = await new Promise<Uint8Array | undefined>((resolve) => {
    worker.once('message', resolve)
    worker.once('error', () => resolve(undefined))
    worker.once('exit', () => resolve(undefined))
  })
  await worker.terminate()
  return cache && { text: script.text, cache }
}
