import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SourceModule } from './linked-script.ts'

const { resolve: resolvePackage } = createRequire(import.meta.url)

/** Static imports and re-exports of values. For our own code only: a form it misses fails the first start of a worker. */
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\s)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm

/** Our own modules as JavaScript, with everything they import. */
export class SourceGraph {
  readonly #modules: ReadonlyMap<string, SourceModule>

  private constructor(modules: ReadonlyMap<string, SourceModule>) {
    this.#modules = modules
  }

  /** `rewrite` gets the name and the text of each file, and returns the text to use. */
  static async read(entries: readonly string[], rewrite: (name: string, text: string) => string): Promise<SourceGraph> {
    const files = new Map<string, SourceModule>()
    const waiting = [...entries]
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (files.has(path)) continue
      const file = importsOf(path, await readFile(path, 'utf8'))
      files.set(path, file)
      waiting.push(...file.imports.values())
    }
    const texts = await stripTypes([...files.values()])
    return new SourceGraph(new Map([...files.values()].map(({ path, imports }, index) =>
      [path, { path, imports, text: rewrite(basename(path), texts[index]!) }])))
  }

  /** The modules of an entry, each after those it imports. */
  inOrder(entry: string): readonly SourceModule[] {
    const ordered = new Map<string, SourceModule>()
    const visit = (path: string, above: readonly string[]): void => {
      if (ordered.has(path)) return
      if (above.includes(path)) throw new Error(`${basename(path)} is part of an import cycle and cannot be linked.`)
      const module = this.#modules.get(path)!
      for (const target of module.imports.values()) visit(target, [...above, path])
      ordered.set(path, module)
    }
    visit(entry, [])
    return [...ordered.values()]
  }
}

function importsOf(path: string, text: string): SourceModule {
  const specifiers = [...text.matchAll(STATIC_IMPORT)].map((match) => match[1]!)
  return {
    path,
    text,
    imports: new Map(specifiers.filter((specifier) => !specifier.startsWith('node:')).map((specifier) =>
      [specifier, specifier.startsWith('.') ? resolve(dirname(path), specifier) : resolvePackage(specifier)] as const)),
  }
}

// In a thread, because Node prints a warning about the function once per process, and the output belongs to the embedder.
const STRIP = `
const { stripTypeScriptTypes } = require('node:module')
const { parentPort, workerData } = require('node:worker_threads')
parentPort.postMessage(workerData.map((text) => stripTypeScriptTypes(text)))
`

/** Sources as JavaScript. In a published package the files are JavaScript already. */
async function stripTypes(files: readonly { readonly path: string; readonly text: string }[]): Promise<readonly string[]> {
  const typed = files.filter(({ path }) => path.endsWith('.ts'))
  if (typed.length === 0) return files.map(({ text }) => text)
  const stripped = await new Promise<readonly string[]>((done, fail) => {
    const workerData = typed.map(({ text }) => text)
    const worker = new Worker(STRIP, { eval: true, execArgv: ['--no-warnings'], env: {}, workerData })
    worker.once('message', done)
    worker.once('error', fail)
  })
  const byPath = new Map(typed.map(({ path }, index) => [path, stripped[index]!]))
  return files.map(({ path, text }) => byPath.get(path) ?? text)
}
