import { spawnSync } from 'node:child_process'
import { SetupFailure } from './failure.mjs'

/** @import { Manifest } from './workspace.mjs' */

/**
 * The version of Node that the workspace brings for this machine: one optional dependency of the root for each platform.
 * @param {Manifest} manifest of the root
 * @param {string} platform
 * @param {string} arch
 * @returns {string}
 */
export function pinnedNode({ optionalDependencies = {} }, platform, arch) {
  const binaries = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('node-'))
  const [, version] = binaries.find(([name]) => name.endsWith(`-${platform}-${arch}`)) ?? []
  if (version !== undefined) return version
  const known = binaries.map(([name]) => name.replace(/^node-(bin-)?/, '')).join(', ')
  throw new SetupFailure(
    `Bulkhead brings its own Node for ${known}; there is none for ${platform}-${arch}.`,
    platform === 'win32'
      ? 'run it inside WSL 2 (https://learn.microsoft.com/windows/wsl).'
      : 'run it on one of these platforms, or in a container of one.',
  )
}

/**
 * @param {string} executable
 * @param {string} version
 */
export function tryOutNode(executable, version) {
  const { stdout, stderr, error } = spawnSync(executable, ['--version'], { encoding: 'utf8' })
  if (stdout?.trim() === `v${version}`) return
  throw new SetupFailure(
    `${executable} should be Node ${version} and answers: ${(stdout || stderr || error?.message || 'nothing').trim()}`,
    'delete node_modules and run the same command again. On a Linux without glibc (Alpine), use an image with glibc (Debian).',
  )
}
