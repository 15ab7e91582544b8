// `pnpm run package`: packs every built package as `npm publish` would, and checks the tarballs.
import { checkPackage as checkTypes, createPackageFromTarballData } from '@arethetypeswrong/core'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { inspectContents } from './package/contents.mjs'

/** The packages are ESM only: these two ways to resolve them are not for them. */
const OTHER_RESOLUTIONS = new Set(['node10', 'node16-cjs'])

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (error) throw new Error(`${command} could not be started: ${error.message}`)
  if (status !== 0) throw new Error(`${command} ${args[0]} failed:\n${stdout}${stderr}`)
}

/**
 * @param {Buffer<ArrayBuffer>} tarball
 * @returns {Promise<string[]>}
 */
async function typeProblems(tarball) {
  const result = await checkTypes(createPackageFromTarballData(tarball))
  if (!result.types) return ['attw: the package has no types']
  return result.problems
    .filter((problem) => !('resolutionKind' in problem && OTHER_RESOLUTIONS.has(problem.resolutionKind)))
    .map((problem) => `attw: ${JSON.stringify(problem)}`)
}

/**
 * @param {string} source the folder of the package
 * @param {string} folder an empty one
 * @returns {Promise<{ summary: string, problems: string[] }>}
 */
async function checkPackage(source, folder) {
  mkdirSync(folder)
  run('pnpm', ['pack', '--pack-destination', folder], source)
  const [name] = globSync('*.tgz', { cwd: folder })
  const tarball = readFileSync(join(folder, `${name}`))
  run('tar', ['-xzf', `${name}`], folder)
  const { manifest, files, problems } = inspectContents(join(folder, 'package'))
  const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer }, strict: true })
  problems.push(...messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`))
  problems.push(...await typeProblems(tarball))
  const size = `${files.length} files, ${(tarball.byteLength / 1024).toFixed(1)} kB`
  return { summary: `${manifest.name} ${manifest.version}: ${size}`, problems }
}

const packages = fileURLToPath(new URL('../packages', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'bulkhead-package-'))
try {
  for (const name of globSync('*', { cwd: packages }).toSorted()) {
    const { summary, problems } = await checkPackage(join(packages, name), join(folder, name))
    console.log([`${problems.length > 0 ? '✗' : '✓'} ${summary}`, ...problems.map((problem) => `  - ${problem}`)].join('\n'))
    if (problems.length > 0) process.exitCode = 1
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
