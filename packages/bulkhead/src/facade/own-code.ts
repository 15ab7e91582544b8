import { readFile, realpath } from 'node:fs/promises'
import Module from 'node:module'
import { basename, dirname, isAbsolute, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The fields of a package that name what its code may import. */
const DEPENDENCIES = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const

/**
 * Canonical paths of all code that this process loads or could load: our packages, their dependencies, every
 * `node_modules` that Node searches, even a missing one, because a nearer folder takes precedence, and Node itself.
 */
export async function ownCode(entry: string = fileURLToPath(import.meta.url)): Promise<readonly string[]> {
  const folders = new Set(await Promise.all([process.execPath, ...globalPaths].filter(isAbsolute).map(canonical)))
  const seen = new Set<string>()
  const isCovered = (path: string): boolean =>
    [...folders].some((folder) => path === folder || path.startsWith(folder + sep))
  const add = async (root: string): Promise<void> => {
    if (seen.has(root)) return
    seen.add(root)
    const searched = foldersAbove(root).filter((folder) => basename(folder) !== 'node_modules')
      .map((folder) => join(folder, 'node_modules'))
    for (const folder of [root, ...searched]) folders.add(folder)
    const found = await Promise.all((await dependenciesOf(root)).map((name) => find(name, searched)))
    // A package inside a listed folder finds its dependencies there too.
    for (const path of found) if (path !== undefined && !isCovered(path)) await add(path)
  }
  await add(await packageRoot(await realpath(entry)))
  return [...folders]
}

/** The last folders that `require` searches, such as ~/.node_modules. */
const { globalPaths } = Module as unknown as { readonly globalPaths: readonly string[] }

/** The folder and all its ancestors. */
function foldersAbove(path: string): readonly string[] {
  const above = dirname(path)
  return above === path ? [path] : [path, ...foldersAbove(above)]
}

async function packageRoot(file: string): Promise<string> {
  for (const folder of foldersAbove(dirname(file))) if (await exists(join(folder, 'package.json'))) return folder
  return dirname(file)
}

async function dependenciesOf(root: string): Promise<readonly string[]> {
  const text = await readFile(join(root, 'package.json'), 'utf8').catch(() => '{}')
  const manifest = JSON.parse(text) as Partial<Record<(typeof DEPENDENCIES)[number], Readonly<Record<string, string>>>>
  return DEPENDENCIES.flatMap((field) => Object.keys(manifest[field] ?? {}))
}

async function find(name: string, searched: readonly string[]): Promise<string | undefined> {
  for (const folder of searched) {
    const found = await realpath(join(folder, name)).catch(() => undefined)
    if (found !== undefined) return found
  }
  return undefined
}

const canonical = (path: string): Promise<string> => realpath(path).catch(() => path)
const exists = (path: string): Promise<boolean> => realpath(path).then(() => true, () => false)
