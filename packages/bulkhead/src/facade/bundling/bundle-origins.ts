import { SourceMap } from 'node:module'
import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CodeOrigins, WrittenPlace } from '@bulkhead/contract'
import type { BundledFiles } from '@bulkhead/loader'
import { declaredPlace } from './declared-place.ts'

/** What the bundler tells about a bundle. */
export interface BundleFacts {
  /** The folder of the extension. */
  readonly sources: Pick<BundledFiles, 'folder' | 'shown'>
  /** The main module as it was written, from the folder. */
  readonly main: string
  /** The file of the bundle, from the folder. */
  readonly file: string
  /** A source map, as JSON. Its sources are relative to a folder `dist` of the extension. */
  readonly map: string
  /** What each module imports: absolute paths, and names of builtin modules. */
  readonly imports: ReadonlyMap<string, readonly string[]>
  /** The text of each file, by its absolute path. */
  readonly texts: ReadonlyMap<string, string>
}

/** Nothing is parsed before an error asks for it. */
export function bundleOrigins({ sources, main, file, map, imports, texts }: BundleFacts): CodeOrigins {
  const { folder } = sources
  const shown = (path: string): string => isAbsolute(path) ? sources.shown(path) : path
  const written = (source: string): string => shown(join(folder, 'dist', source))
  /** The files from the main module to an import, and the import. */
  const pathTo = (imported: string): readonly string[] =>
    shortestPath(new Map([...imports].map(([path, targets]) => [shown(path), targets.map(shown)])), main, imported)
  let parsed: SourceMap | undefined
  return {
    main,
    placeOf(built, line, column): WrittenPlace | undefined {
      if (built !== file) return undefined
      parsed ??= new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0])
      const entry = parsed.findEntry(line - 1, column - 1)
      if (!('originalSource' in entry) || entry.originalSource === undefined) return undefined
      const { originalSource, originalLine, originalColumn } = entry
      return { file: written(originalSource), line: originalLine + 1, column: originalColumn + 1 }
    },
    chainTo(imported) {
      const names = pathTo(imported).map(nameOf)
      return names.filter((name, at) => name !== names[at - 1])
    },
    importOf(specifier) {
      const importer = pathTo(specifier).at(-2)
      if (importer === undefined) return undefined
      const names = [specifier, specifier.replace(/^node:/, '')]
      const quoted = ["'", '"'].flatMap((quote) => names.map((name) => `${quote}${name}${quote}`))
      const lines = texts.get(join(folder, importer))?.split('\n') ?? []
      const line = lines.findIndex((text) => quoted.some((name) => text.includes(name)))
      return line < 0 ? undefined : { file: importer, line: line + 1 }
    },
    declarationOf(steps) {
      const own = [...texts].map(([path, text]) => [shown(path), text] as const).filter(([path]) => packageOf(path) === undefined)
      return declaredPlace(new Map(own), steps)
    },
    sourceMapOf(built) {
      if (built !== file) return undefined
      const whole = JSON.parse(map) as { readonly sources: readonly string[] }
      const urls = whole.sources.map((source) => pathToFileURL(join(folder, 'dist', source)).href)
      return JSON.stringify({ ...whole, sources: urls })
    },
  }
}

/** Empty if there is none. */
function shortestPath(links: ReadonlyMap<string, readonly string[]>, from: string, to: string): readonly string[] {
  const before = new Map<string, string | undefined>([[from, undefined]])
  for (const [at] of before) {
    for (const next of links.get(at) ?? []) if (!before.has(next)) before.set(next, at)
  }
  const path: string[] = []
  for (let at = before.has(to) ? to : undefined; at !== undefined; at = before.get(at)) path.unshift(at)
  return path
}

const PACKAGE = /^.*(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\/.*$/

/** The package of a file in `node_modules`, by its shown path; undefined for files of the tool. */
const packageOf = (path: string): string | undefined => PACKAGE.exec(path)?.[1]

/** The name of the package that a file belongs to, or the file itself. */
export const nameOf = (path: string): string => packageOf(path) ?? path
