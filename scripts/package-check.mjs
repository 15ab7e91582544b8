// Run in the folder of a built package: packs it as `npm publish` would and checks the tarball.
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspectContents } from './package/contents.mjs'

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {{ failed: boolean, output: string }}
 */
function run(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (error) return { failed: true, output: `${command} could not be started: ${error.message}` }
  return { failed: status !== 0, output: `${stdout}${stderr}`.trim() }
}

/**
 * @param {string} folder an empty one
 * @returns {{ summary: string, problems: string[] }}
 */
function checkPackage(folder) {
  const unpacked = join(folder, 'unpacked')
  mkdirSync(unpacked)
  const pack = run('pnpm', ['pack', '--pack-destination', folder])
  const [name] = globSync('*.tgz', { cwd: folder })
  if (pack.failed || name === undefined) return { summary: process.cwd(), problems: [`pnpm pack failed:\n${pack.output}`] }
  const tarball = join(folder, name)
  const unpack = run('tar', ['-xzf', tarball, '-C', unpacked])
  if (unpack.failed) return { summary: name, problems: [`tar could not unpack it:\n${unpack.output}`] }

  const { manifest, files, problems } = inspectContents(join(unpacked, 'package'))
  const publint = run('publint', ['run', tarball, '--strict'])
  if (publint.failed) problems.push(`publint:\n${publint.output}`)
  const types = run('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color'])
  if (types.failed) problems.push(`attw:\n${types.output}`)
  const size = `${files.length} files, ${(statSync(tarball).size / 1024).toFixed(1)} kB`
  return { summary: `${manifest.name} ${manifest.version}: ${size}`, problems }
}

const folder = mkdtempSync(join(tmpdir(), 'bulkhead-package-'))
try {
  const { summary, problems } = checkPackage(folder)
  console.log([`${problems.length > 0 ? '✗' : '✓'} ${summary}`, ...problems.map((problem) => `  - ${problem}`)].join('\n'))
  process.exitCode = problems.length > 0 ? 1 : 0
} finally {
  rmSync(folder, { recursive: true, force: true })
}
