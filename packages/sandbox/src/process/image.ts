import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import type { CompiledScript } from '../wire/worker-start.ts'
import { exportsOf, linkedScript } from './linked-script.ts'
import type { SourceModule } from './linked-script.ts'
import { SourceGraph } from './source-graph.ts'
import { warmScript } from './warm-script.ts'

/**
 * The code that runs in hulls and workers, as texts. It is handed to them, so that they need no right to read files, wherever
 * this package is installed.
 */
export interface Image {
  /** The main thread of a hull. */
  readonly hull: string
  /** The first lines of the thread of a compartment, as a text and as a file. They run the script. */
  readonly boot: string
  readonly bootFile: string
  /** The thread of a compartment. It is replaced by one that starts faster when that is at hand. */
  script: CompiledScript
  /** The module that extensions may import of us. */
  readonly author: string
}

const { resolve: resolvePackage } = createRequire(import.meta.url)

let image: Promise<Image> | undefined
let warmed: Promise<void> | undefined

/** Read once per process, but for a failure, which is tried again. */
export function loadImage(): Promise<Image> {
  image ??= buildImage().catch((error: unknown) => {
    image = undefined
    throw error
  })
  return image
}

/** Once per process, and not before something was started: what is started later compiles less. Never rejects. */
export function warmImage(): Promise<void> {
  warmed ??= loadImage().then(async (loaded) => {
    loaded.script = await warmScript(loaded) ?? loaded.script
  }).catch(() => undefined)
  return warmed
}

/** An image whose modules may be other ones: `rewrite` is given each text by the name of its file. */
export async function buildImage(rewrite = (_name: string, text: string): string => text): Promise<Image> {
  const hull = fileURLToPath(new URL('../worker/hull-main.ts', import.meta.url))
  const worker = fileURLToPath(new URL('../worker/main.ts', import.meta.url))
  const bootFile = fileURLToPath(new URL('../../thread.cjs', import.meta.url))
  const author = resolvePackage('@bulkhead/contract/author')
  const graph = await SourceGraph.read([hull, worker, author], rewrite)
  return {
    hull: linkedScript(graph.inOrder(hull)),
    boot: await readFile(bootFile, 'utf8'),
    bootFile,
    script: compiled(graph.inOrder(worker)),
    author: asModule(graph.inOrder(author)),
  }
}

function compiled(modules: readonly SourceModule[]): CompiledScript {
  const text = `(function (require) {${linkedScript(modules)}\nreturn ${lastOf(modules)}\n})`
  return { text, cache: new Script(text, { filename: 'compartment' }).createCachedData() }
}

function asModule(modules: readonly SourceModule[]): string {
  return `${linkedScript(modules)}\nexport const { ${exportsOf(modules.at(-1)!.text).join(', ')} } = ${lastOf(modules)}`
}

const lastOf = (modules: readonly SourceModule[]): string => `m${modules.length - 1}`
