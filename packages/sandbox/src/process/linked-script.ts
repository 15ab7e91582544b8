import { hash } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire, getCompileCacheDir } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'

/** One of our modules as JavaScript, with the paths of its imports except builtins. */
export interface SourceModule {
  readonly path: string
  readonly text: string
  readonly imports: ReadonlyMap<string, string>
}

/** Imports of values at the start of a line. For our own code only; the tests of the image check its form. */
const IMPORT = /^import\s+(?:([^'"]*?)\s+from\s+)?['"]([^'"]+)['"];?$/gm
const REEXPORT = /^export\s+\{([^}]*)\}\s+from\s+['"]([^'"]+)['"];?$/gm
const EXPORT_LIST = /^export\s+\{([^}]*)\};?$/gm
const EXPORT_DECLARATION = /^export\s+(?=(?:async\s+)?(?:const|let|class|function\*?)\s+([\w$]+))/gm
const LEFT_OVER = /^(?:import|export)\b(?!\s*\().*$/m

/**
 * Modules as one classic script, each in a function whose exports are `m0`, `m1` and so on. A thread starts much faster
 * from it than from a graph of modules. A module comes after those it imports; cycles and live bindings are not
 * supported. It is strict, as modules are, so that functions of an extension cannot reach our callers.
 */
export function linkedScript(modules: readonly SourceModule[]): string {
  const names = new Map(modules.map(({ path }, index) => [path, `m${index}`]))
  const functions = modules.map((module) => `const ${names.get(module.path)!} = ${asFunction(module, names)}`)
  return asciiOnly(["'use strict'", ...functions].join('\n'))
}

/** One non-ASCII character would double the memory of the script in each thread, and the time to read it. */
function asciiOnly(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** The names that a module exports. */
export function exportsOf(text: string): readonly string[] {
  return [
    ...[...text.matchAll(EXPORT_DECLARATION)].map((match) => match[1]!),
    ...[...text.matchAll(EXPORT_LIST), ...text.matchAll(REEXPORT)].flatMap((match) =>
      pairs(match[1]!).map(([, name]) => name)),
  ]
}

function asFunction({ path, text, imports }: SourceModule, names: ReadonlyMap<string, string>): string {
  const from = (specifier: string): string => names.get(imports.get(specifier) ?? '') ?? `require('${specifier}')`
  const offered = [
    ...[...text.matchAll(EXPORT_DECLARATION)].map((match) => match[1]!),
    ...[...text.matchAll(EXPORT_LIST)].flatMap((match) => pairs(match[1]!).map(([local, name]) => `${name}: ${local}`)),
    ...[...text.matchAll(REEXPORT)].flatMap((match) =>
      pairs(match[1]!).map(([local, name]) => `${name}: ${from(match[2]!)}.${local}`)),
  ]
  const body = text
    .replaceAll(IMPORT, (_all, clause: string | undefined, specifier: string) => declaration(clause, from(specifier)))
    .replaceAll(REEXPORT, '')
    .replaceAll(EXPORT_LIST, '')
    .replaceAll(EXPORT_DECLARATION, '')
  const left = LEFT_OVER.exec(body)?.[0]
  if (left !== undefined) {
    throw new SyntaxError(`${basename(path)} has an import or export that cannot be linked: ${left}`)
  }
  return `(() => { // ${basename(path)}\n${body}\nreturn { ${offered.join(', ')} }\n})()`
}

/** `Default, { a, b as c }` or `* as all`, as declarations. Only builtins have a default: the whole module. */
function declaration(clause: string | undefined, source: string): string {
  if (clause === undefined) return ''
  const all = /^(?:\*\s+as\s+)?([\w$]+)/.exec(clause)?.[1]
  const named = /\{([^}]*)\}/.exec(clause)?.[1]
  return [
    ...(all === undefined ? [] : [`const ${all} = ${source}`]),
    ...(named === undefined ? [] : [`const { ${renamed(pairs(named))} } = ${source}`]),
  ].join('; ')
}

const renamed = (names: readonly (readonly [string, string])[]): string =>
  names.map(([name, local]) => `${name}: ${local}`).join(', ')

/** `a, b as c` as pairs. Stripped types leave gaps, which are skipped. */
function pairs(list: string): readonly (readonly [string, string])[] {
  return list.split(',').map((entry) => entry.trim()).filter(Boolean).map((entry) => {
    const [name, local] = entry.split(/\s+as\s+/)
    return [name!, local ?? name!] as const
  })
}

const { resolve: resolvePackage } = createRequire(import.meta.url)

/**
 * Static imports and re-exports of values. For our own code only: a form it misses fails the first start of a worker.
 */
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\s)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm

/** Our own modules as JavaScript, with everything they import. */
export class SourceGraph {
  readonly #modules: ReadonlyMap<string, SourceModule>

  private constructor(modules: ReadonlyMap<string, SourceModule>) {
    this.#modules = modules
  }

  /** `rewrite` gets the name and the source of each file, and returns the source to use. */
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

// In a thread, because Node prints a warning about the function once per process, and the output belongs to the
// embedder.
const STRIP = `
const { stripTypeScriptTypes } = require('node:module')
const { parentPort, workerData } = require('node:worker_threads')
parentPort.postMessage(workerData.map((text) => stripTypeScriptTypes(text)))
`

/** Sources as JavaScript. In a published package the files are JavaScript already. */
async function stripTypes(files: readonly Pick<SourceModule, 'path' | 'text'>[]): Promise<readonly string[]> {
  const typed = files.filter(({ path }) => path.endsWith('.ts'))
  if (typed.length === 0) return files.map(({ text }) => text)
  const stripped = await strippedOnce(typed.map(({ text }) => text))
  const byPath = new Map(typed.map(({ path }, index) => [path, stripped[index]!]))
  return files.map(({ path, text }) => byPath.get(path) ?? text)
}

/**
 * Kept in the compile cache of Node, if it is enabled: stripping takes most of the time of a first start from sources.
 */
async function strippedOnce(workerData: readonly string[]): Promise<readonly string[]> {
  const folder = getCompileCacheDir()
  const key = hash('sha256', JSON.stringify(workerData))
  const file = folder && join(folder, 'stripped.json')
  const kept = file && await readFile(file, 'utf8').then((text) => JSON.parse(text) as Stripped).catch(() => undefined)
  if (kept && kept.key === key) return kept.texts
  const texts = await new Promise<readonly string[]>((done, fail) => {
    const worker = new Worker(STRIP, { eval: true, execArgv: ['--no-warnings'], env: {}, workerData })
    worker.once('message', done)
    worker.once('error', fail)
  })
  if (file) {
    const draft = `${file}.${process.pid}`
    await writeFile(draft, JSON.stringify({ key, texts } satisfies Stripped))
      .then(() => rename(draft, file)).catch(() => undefined)
  }
  return texts
}

interface Stripped {
  readonly key: string
  readonly texts: readonly string[]
}
