import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import type { SourceModule } from './linked-script.ts'
import { stripTypes } from './strip-types.ts'

const { resolve: resolvePackage } = createRequire(import.meta.url)

/** Static imports and re-exports of values. For code of ours only: a form it misses fails the first start of a worker. */
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\s)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm

/** Modules of ours as JavaScript, with all they import. */
export class SourceGraph {
  readonly #modules: ReadonlyMap<string, SourceModule>

  private constructor(modules: ReadonlyMap<string, SourceModule>) {
    this.#modules = modules
  }

  /** `rewrite` is given each text by the name of its file, and says what stands there instead. */
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

  /** A module after all that it imports. */
  inOrder(entry: string): readonly SourceModule[] {
    const ordered = new Map<string, SourceModule>()
    const visit = (path: string, above: readonly string[]): void => {
      if (ordered.has(path)) return
      if (above.includes(path)) throw new Error(`${basename(path)} imports itself by way of others and cannot be linked.`)
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
