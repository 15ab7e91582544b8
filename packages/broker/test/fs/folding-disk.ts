import type { Disk, FileInfo, NameFolding } from '../../src/fs/disk.ts'

export type Tree = { readonly [name: string]: Tree | string | { readonly link: string } }

interface Entry {
  readonly name: string
  readonly kind: FileInfo['kind']
  readonly node: number
  readonly target: string
  readonly entries: Entry[]
}

/**
 * A file system in memory that folds names, like those of macOS and Windows, and keeps the name an entry was created
 * with. `aliases` are further names that are not listed, such as short (8.3) names.
 */
export class FoldingDisk implements Disk {
  readonly #top: Entry
  readonly #fold: (name: string) => string
  readonly #aliases: ReadonlyMap<string, string>
  readonly touched: string[] = []
  #nodes = 0

  constructor(root: string, tree: Tree, folding: NameFolding, aliases: ReadonlyMap<string, string> = new Map()) {
    // Folds differently than the code under test: to upper case and decomposed.
    this.#fold = (name) => {
      const normal = folding.normal ? name.normalize('NFD') : name
      return folding.case ? normal.toUpperCase() : normal
    }
    this.#aliases = aliases
    this.#top = { ...this.#folder('', {}), entries: [] }
    let at = this.#top
    for (const name of root.split('/').filter((part) => part !== '')) {
      const below = this.#folder(name, {})
      at.entries.push(below)
      at = below
    }
    at.entries.push(...this.#entries(tree))
  }

  async lstat(path: string): Promise<FileInfo | undefined> {
    this.touched.push(path)
    const entry = this.#find(path, false)?.entry
    return entry && { kind: entry.kind, device: 1, node: entry.node }
  }

  async readlink(path: string): Promise<string> {
    return this.#find(path, false)!.entry.target
  }

  async readdir(folder: string): Promise<readonly string[]> {
    return this.#find(folder, true)?.entry.entries.map(({ name }) => name) ?? []
  }

  async realpath(path: string): Promise<string> {
    const found = this.#find(path, true)
    if (found === undefined) throw Object.assign(new Error('missing'), { code: 'ENOENT' })
    const slashes = /^\/*/.exec(path)![0]
    const names = found.names.join('/')
    return slashes === '' && found.names.length === 1 ? `${names}/` : slashes + names
  }

  #folder(name: string, tree: Tree): Entry {
    return { name, kind: 'folder', node: ++this.#nodes, target: '', entries: this.#entries(tree) }
  }

  #entries(tree: Tree): Entry[] {
    return Object.entries(tree).map(([name, value]) => {
      if (typeof value === 'string') return { name, kind: 'file', node: ++this.#nodes, target: '', entries: [] }
      if (typeof value['link'] === 'string') {
        return { name, kind: 'link', node: ++this.#nodes, target: value['link'], entries: [] }
      }
      return this.#folder(name, value as Tree)
    })
  }

  #find(path: string, follow: boolean): { readonly entry: Entry; readonly names: readonly string[] } | undefined {
    let at = this.#top
    const names: string[] = []
    for (const given of path.split('/').filter((part) => part !== '')) {
      const name = this.#aliases.get(given) ?? given
      const entry = at.entries.find((other) => this.#fold(other.name) === this.#fold(name))
      if (entry === undefined) return undefined
      if (entry.kind === 'link' && follow) return undefined
      names.push(entry.name)
      at = entry
    }
    return { entry: at, names }
  }
}
