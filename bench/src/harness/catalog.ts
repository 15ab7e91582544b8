import { readdir } from 'node:fs/promises'
import type { Subject } from './subject.ts'

/** The subjects of a folder by name: `<name>.ts` exports `subject`. Nothing is imported before it is asked for. */
export interface Catalog {
  readonly names: readonly string[]
  load(name: string): Promise<Subject>
}

export async function openCatalog(folder: URL): Promise<Catalog> {
  const files = new Map<string, URL>()
  for (const file of (await readdir(folder)).toSorted()) {
    if (file.endsWith('.ts')) files.set(file.slice(0, -'.ts'.length), new URL(file, folder))
  }
  return {
    names: [...files.keys()],
    load: async (name) => {
      const file = files.get(name)
      if (file === undefined) throw new RangeError(`There is no subject "${name}" in ${folder.pathname}.`)
      const { subject } = (await import(file.href)) as { subject?: Subject }
      if (subject === undefined) {
        throw new TypeError(`${file.pathname} exports no subject. Add "export const subject = defineSubject({ … })" to it.`)
      }
      return subject
    },
  }
}
