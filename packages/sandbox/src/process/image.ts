import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { Worker } from 'node:worker_threads'
import type { CompiledScript, WorkerStart } from '../wire/protocol.ts'
import { threadOptions } from './hull.ts'

/**
 * The code of child processes and threads, as source text. They get it from the host, so they need no right to read
 * files.
 */
export interface Image {
  /** For the main thread of a child process. */
  readonly hull: string
  /** The boot script of a thread. It runs `script`. */
  readonly boot: string
  /** For the thread of a compartment. `warmImage` replaces it by one that starts faster. */
  script: CompiledScript
  /** The only module of this project that extensions may import. */
  readonly author: string
  /** The shims of globals and modules, for extensions that declare a capability. */
  readonly shims: string
}

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

/** `rewrite` gets the name and the source of each file, and returns the source to use. Only tests change any. */
export async function buildImage(rewrite?: (name: string, text: string) => string): Promise<Image> {
  const bootFile = fileURLToPath(new URL('../../thread.cjs', import.meta.url))
  // Loaded late: in a published package it is all the code, as text.
  const { imageCode } = await import('./image-code.ts')
  const { hull, worker, author, shims } = await imageCode(rewrite)
  return {
    hull: `'use strict'\nconst builtin = process.getBuiltinModule;\n${hull}`,
    boot: await readFile(bootFile, 'utf8'),
    script: compiled(asFunction(worker, CAPTURED_BY_WORKER)),
    author,
    shims: asFunction(shims, CAPTURED_BY_SHIMS),
  }
}

function compiled(text: string): CompiledScript {
  return { text, cache: new Script(text, { filename: 'compartment' }).createCachedData() }
}

/** Strict, as modules are, so that functions of an extension cannot reach our callers. */
const asFunction = (code: string, captured: readonly string[]): string =>
  `(function (builtin) {'use strict'\nconst { ${captured.join(', ')} } = globalThis\n${code}\nreturn image\n})`

/** Globals that Comlink uses at each call. They are read once, before the code of an extension. */
const CAPTURED_BY_WORKER = ['Array', 'Map', 'Math', 'Number', 'Object', 'Promise', 'Proxy', 'WeakMap']

/** Globals that shims use. They are read once, so that those for native modules cannot get others from an extension. */
const CAPTURED_BY_SHIMS = [
  'Array', 'ArrayBuffer', 'Boolean', 'DOMException', 'DataView', 'Error', 'Infinity', 'JSON', 'Map', 'Math', 'Number',
  'Object', 'Promise', 'RangeError', 'Reflect', 'Set', 'String', 'Symbol', 'TextDecoder', 'TypeError', 'URL',
  'Uint8Array', 'clearTimeout', 'crypto', 'decodeURIComponent', 'performance', 'process', 'queueMicrotask',
  'setImmediate', 'setTimeout',
]

const WARM_UP_HEAP_MB = 64

/**
 * The script with V8's code cache after a warm-up, taken from a thread that is ended afterwards. Later threads compile
 * almost nothing. Undefined when it fails, which does no harm. Never rejects.
 */
export async function warmScript({ boot, script, author }: Image): Promise<CompiledScript | undefined> {
  const start: WorkerStart = { script, author, spare: true, inHull: false }
  const worker = new Worker(boot, {
    ...threadOptions({ heapMb: WARM_UP_HEAP_MB }), eval: true, stdout: true, stderr: true,
    workerData: { ...start, tellsCache: true },
  })
  const cache = await new Promise<Uint8Array | undefined>((resolve) => {
    worker.on('message', (message: unknown) => message instanceof Uint8Array && resolve(message))
    worker.once('error', () => resolve(undefined))
    worker.once('exit', () => resolve(undefined))
  })
  await worker.terminate()
  return cache && { text: script.text, cache }
}
