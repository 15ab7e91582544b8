import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findProgram } from '@bulkhead/kit/programs'

/** Not a dependency: it has 120 MB, and only benchmarks need it. */
const PACKAGE = `@deno/${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`
const VERSION = '2.9.6'
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/deno', import.meta.url))

/** The path of Deno: of this machine, or from npm. */
export async function findDeno(): Promise<string> {
  const installed = findProgram('deno', '/', process.env['PATH'] ?? '')
  if (installed !== undefined) return installed
  const program = join(CACHE, 'node_modules', PACKAGE, 'deno')
  if (existsSync(program)) return program
  await mkdir(CACHE, { recursive: true })
  const options = ['--prefix', CACHE, '--no-save', '--ignore-scripts', '--no-package-lock']
  await promisify(execFile)('npm', ['install', ...options, `${PACKAGE}@${VERSION}`], { cwd: CACHE })
  return program
}
