import { checkPackage as checkTypes, createPackageFromTarballData } from '@arethetypeswrong/core'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { inspectContents } from './contents.mjs'

/** The packages are ESM only: these two ways to resolve them are not for them. */
const OTHER_RESOLUTIONS = new Set(['node10', 'node16-cjs'])

/**
 * Checks a packed tarball: its files and manifest, how Node resolves it (publint), and how TypeScript does (attw).
 * @param {string} file
 * @returns {Promise<{ summary: string, problems: string[] }>}
 */
export async function checkTarball(file) {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-tarball-'))
  try {
    execFileSync('tar', ['-xzf', file, '-C', folder])
    const tarball = readFileSync(file)
    const { files, problems } = inspectContents(join(folder, 'package'))
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer }, strict: true })
    problems.push(...messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`))
    problems.push(...await typeProblems(tarball))
    return { summary: `${files.length} files, ${(tarball.byteLength / 1024).toFixed(1)} kB`, problems }
  } finally {
    rmSync(folder, { recursive: true })
  }
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
