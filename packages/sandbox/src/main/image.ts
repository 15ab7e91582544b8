import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImageModule } from '../wire/worker-start.ts'
import { stripTypes } from './strip-types.ts'

/**
 * The code that runs in hulls and workers, as texts. It is handed to them, so that neither needs the right to read a
 * single file, wherever this package is installed.
 */
export interface Image {
  /** The main thread of a hull. */
  readonly hull: string
  /** The first module of a worker; it takes the others from `modules`. */
  readonly boot: string
  readonly modules: readonly ImageModule[]
  readonly entry: string
  readonly authorUrl: string
}

const { resolve: resolvePackage } = createRequire(import.meta.url)

let image: Promise<Image> | undefined

/** Read once per process, but for a failure, which is tried again. */
export function loadImage(): Promise<Image> {
  image ??= readImage().catch((error: unknown) => {
    image = undefined
    throw error
  })
  return image
}

async function readImage(): Promise<Image> {
  const hull = fileURLToPath(new URL('../hull/main.ts', import.meta.url))
  const boot = fileURLToPath(new URL('../worker/boot.ts', import.meta.url))
  const entry = fileURLToPath(new URL('../worker/main.ts', import.meta.url))
  const files = await readGraph(entry)
  const urls = new Map([...files.keys()].map((path, index) => [path, `bulkhead:${index}/${basename(path)}`]))
  const urlOf = (path: string): string => urls.get(path)!
  const [hullText, bootText, ...texts] = await stripTypes([await read(hull), await read(boot), ...files.values()])
  return {
    hull: hullText!,
    boot: bootText!,
    modules: [...files.values()].map((file, index) => ({
      url: urlOf(file.path),
      source: texts[index]!,
      imports: [...file.imports].map(([specifier, target]) => [specifier, urlOf(target)] as const),
    })),
    entry: urlOf(entry),
    authorUrl: urlOf(resolvePackage('@bulkhead/contract/author')),
  }
}

interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: ReadonlyMap<string, string>
}

/** Every file an entry imports, directly or not, by path. */
async function readGraph(entry: string): Promise<ReadonlyMap<string, SourceFile>> {
  const files = new Map<string, SourceFile>()
  const waiting = [entry]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue
    const file = await read(path)
    files.set(path, file)
    waiting.push(...file.imports.values())
  }
  return files
}

async function read(path: string): Promise<SourceFile> {
  const text = await readFile(path, 'utf8')
  const specifiers = [...text.matchAll(STATIC_IMPORT)].map((match) => match[1]!)
  return {
    path,
    text,
    imports: new Map(specifiers.filter((specifier) => !specifier.startsWith('node:')).map((specifier) =>
      [specifier, specifier.startsWith('.') ? resolve(dirname(path), specifier) : resolvePackage(specifier)] as const)),
  }
}

/** Static imports and re-exports of values. For code of ours only: a form it misses fails the first start of a worker. */
const STATIC_IMPORT = /^(?:import|export)\s+(?!type\s)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
