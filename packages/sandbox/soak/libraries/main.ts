// Installs the libraries of the table in a temporary folder, and does one real thing with each in a compartment: `pnpm
// soak`. Exits with 1 if one does not do what the table in the guide says. `--folder` uses a folder in which they are
// installed, `--only` names some of them, `--record` writes the table if all is well.
import { execFileSync } from 'node:child_process'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createSandbox } from '../../src/index.ts'
import { LIBRARIES, OVERRIDES } from './packages.ts'
import { writeTable } from './table.ts'
import { fillWorkspace, serveAll, tryLibrary } from './run.ts'

const { values } = parseArgs({
  options: { folder: { type: 'string' }, only: { type: 'string' }, record: { type: 'boolean' } },
})
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const temporary = (name: string): Promise<string> => mkdtemp(join(tmpdir(), name)).then((path) => realpath(path))

const folder = values.folder ?? await install()
const workspace = await temporary('libraries-work-')
await fillWorkspace(workspace)
const sandbox = createSandbox({ workspace, spares: { process: 0, thread: 0 } })
const services = await serveAll()
const chosen = LIBRARIES.filter(({ name }) => values.only === undefined || values.only.split(',').includes(name))
let wrong = 0
for (const library of chosen) {
  const { fault } = await tryLibrary(library, { folder, workspace, sandbox, services })
  if (fault !== undefined) wrong++
  print(`${library.name.padEnd(22)} ${fault === undefined ? 'as in the table' : `NOT AS IN THE TABLE: ${fault}`}`)
}
services.close()
await sandbox.close()
await rm(workspace, { recursive: true })
if (values.folder === undefined) await rm(folder, { recursive: true })
print(`${chosen.length} libraries, ${wrong} not as in the table`)
if (values.record === true && wrong === 0) await writeTable()
process.exitCode = wrong === 0 ? 0 : 1

/** With exact versions, without running their scripts. They are in no lockfile of this repository. */
async function install(): Promise<string> {
  const created = await temporary('libraries-')
  const dependencies = Object.fromEntries(LIBRARIES.map(({ name, version }) => [name, version]))
  await writeFile(join(created, 'package.json'), JSON.stringify({ type: 'module', dependencies, overrides: OVERRIDES }))
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], {
    cwd: created, stdio: ['ignore', 'ignore', 'inherit'],
  })
  return created
}
