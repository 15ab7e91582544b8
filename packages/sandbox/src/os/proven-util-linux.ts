import { inactive, type OsLayer } from './os-layer.ts'
import { namespaceOptions, privilegeForms, type NamespaceMeans, type UtilLinuxMeans } from './util-linux.ts'

export interface UtilLinuxTrial {
  readonly isRoot: boolean
  find(program: string): Promise<OsLayer<{ readonly path: string }>>
  /** Starts a hull under it. Returns why that does not work, if so. */
  complaintAbout(layer: OsLayer<UtilLinuxMeans>): Promise<string | undefined>
}

/** The strictest form of these walls that works here. Namespaces count for more than another user. */
export async function provenUtilLinux({ isRoot, find, complaintAbout }: UtilLinuxTrial): Promise<OsLayer<UtilLinuxMeans>> {
  const [setpriv, unshare, shell] = await Promise.all([find('setpriv'), find('unshare'), find('sh')])
  if (!setpriv.active) return setpriv
  const isComplete = unshare.active && shell.active
  let unseparated = !unshare.active ? unshare.reason : !shell.active ? shell.reason : ''
  let complaint: string | undefined
  const separate = isComplete
    ? namespaceOptions(isRoot).map((options): OsLayer<NamespaceMeans> => ({ active: true, path: unshare.path, options, shell: shell.path }))
    : []
  for (const namespaces of [...separate, undefined]) {
    for (const form of privilegeForms(isRoot)) {
      const layer = { active: true, setpriv: { path: setpriv.path, ...form }, namespaces: namespaces ?? inactive(unseparated) } as const
      complaint = await complaintAbout(layer)
      if (complaint === undefined) return layer
    }
    if (namespaces !== undefined) unseparated = complaint!
  }
  return inactive(complaint!)
}
