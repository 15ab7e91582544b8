import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const EXTENSION = fileURLToPath(new URL('../../extensions/read-notes', import.meta.url))
export const NOTES = 'hello\n'.repeat(100)

const run = promisify(execFile)

/** The published packages, and a home with an installed tool that an earlier process has used. */
export interface Published {
  readonly library: string
  readonly program: string
  readonly home: string
  readonly workspace: string
  remove(): Promise<void>
}

export async function openPublished(): Promise<Published> {
  const folder = await mkdtemp(join(tmpdir(), 'bulkhead-published-'))
  const [packages, home, workspace] = ['packages', 'home', 'work'].map((name) => join(folder, name)) as [string, string, string]
  layOut(packages)
  await mkdir(workspace)
  await writeFile(join(workspace, 'notes.md'), NOTES)
  const program = join(packages, 'node_modules/bulkhead/dist/bin.js')
  const at = ['--home', home, '--workspace', workspace]
  await run(process.execPath, [program, 'install', EXTENSION, '--yes', ...at])
  await run(process.execPath, [program, 'call', 'read_notes', '--args', '{"path":"notes.md"}', '--mode', 'yolo', ...at])
  return {
    library: join(packages, 'node_modules/bulkhead/dist/index.js'), program, home, workspace,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

interface Manifest {
  readonly name: string
  readonly files?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly publishConfig?: object
}

/** Every package as it is published, with the dependencies of the workspace. */
function layOut(folder: string): void {
  for (const from of globSync(join(ROOT, 'packages/*'))) {
    if (!existsSync(join(from, 'dist'))) throw new Error(`${from} is not built. Run pnpm build first.`)
    const { publishConfig, ...manifest } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as Manifest
    const to = join(folder, 'node_modules', manifest.name)
    rmSync(to, { recursive: true, force: true })
    mkdirSync(to, { recursive: true })
    writeFileSync(join(to, 'package.json'), JSON.stringify({ ...manifest, ...publishConfig }))
    for (const name of manifest.files ?? []) {
      if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name), { recursive: true })
    }
    for (const name of Object.keys({ ...manifest.peerDependencies, ...manifest.dependencies })) {
      const isOurs = existsSync(join(ROOT, 'packages', name.replace('@bulkhead/', ''), 'package.json'))
      if (isOurs || !existsSync(join(from, 'node_modules', name))) continue
      const link = join(to, 'node_modules', name)
      mkdirSync(dirname(link), { recursive: true })
      symlinkSync(realpathSync(join(from, 'node_modules', name)), link)
    }
  }
}
