import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SetupFailure } from './failure.mjs'

/**
 * @typedef {object} Manifest
 * @property {string} [name]
 * @property {string} [packageManager]
 * @property {Record<string, string>} [scripts]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 */

/**
 * @param {string} folder
 * @returns {Manifest}
 */
export function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/**
 * The folders of the workspace's packages, relative to its root, in a fixed order.
 * @param {string} root
 * @returns {string[]}
 */
export function workspaceFolders(root) {
  return packagePatterns(readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8'))
    .flatMap((pattern) => expand(root, pattern))
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .toSorted()
}

/**
 * The list under `packages:`. No YAML library is there before the setup has run, and this file needs no more of YAML.
 * @param {string} yaml
 * @returns {string[]}
 */
function packagePatterns(yaml) {
  const lines = yaml.split(/\r?\n/)
  const start = lines.indexOf('packages:') + 1
  const length = lines.slice(start).findIndex((line) => !/^\s+- /.test(line))
  return lines.slice(start, start + length).map((line) => line.replace(/^\s+- /, '').trim().replace(/^(['"])(.*)\1$/, '$2'))
}

/**
 * @param {string} root
 * @param {string} pattern
 * @returns {string[]}
 */
function expand(root, pattern) {
  const [, parent] = /^([^*!]+)\/\*$/.exec(pattern) ?? []
  if (parent !== undefined) {
    if (!existsSync(join(root, parent))) return []
    const entries = readdirSync(join(root, parent), { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => `${parent}/${entry.name}`)
  }
  if (!/[*!{]/.test(pattern)) return [pattern]
  throw new SetupFailure(
    `pnpm-workspace.yaml lists the packages \`${pattern}\`, which the setup cannot expand.`,
    'use `folder` or `folder/*` there, or teach scripts/boot/workspace.mjs the new form.',
  )
}
