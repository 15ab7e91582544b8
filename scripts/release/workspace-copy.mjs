import { cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** @typedef {{ name: string, version: string, private?: boolean, files?: string[] }} Manifest */

/** What changesets and pnpm read at the root. pnpm adds the licence to every tarball. */
const ROOT_FILES = ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'LICENSE', '.changeset']

/**
 * Copies what a release reads, so that versions and changelogs can be written without changing the workspace.
 * @param {string} root
 * @param {string} copy an empty folder
 */
export function copyWorkspace(root, copy) {
  for (const name of ROOT_FILES) cpSync(join(root, name), join(copy, name), { recursive: true })
  // The SBOM takes the licences of the dependencies from here.
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  for (const file of manifestFiles(root)) {
    const { files = [] } = readManifest(join(root, file))
    const folder = dirname(file)
    const names = ['package.json', 'README.md', 'CHANGELOG.md', ...files].map((each) => join(folder, each))
    for (const name of globSync(names, { cwd: root })) cpSync(join(root, name), join(copy, name), { recursive: true })
  }
}

/**
 * @param {string} root
 * @returns {(Manifest & { folder: string })[]} every package that is published
 */
export function publishedPackages(root) {
  return manifestFiles(root)
    .map((file) => ({ ...readManifest(join(root, file)), folder: dirname(file) }))
    .filter((manifest) => manifest.private !== true)
}

/**
 * @param {string} root
 * @returns {string[]} the names of the changesets that no version contains yet
 */
export function pendingChangesets(root) {
  return globSync('.changeset/*.md', { cwd: root }).filter((file) => !file.endsWith('README.md')).toSorted()
}

/**
 * npm accepts provenance only for a package that names the repository it was built in. GitHub tells the workflow which.
 * @param {string} root
 * @param {string} url
 */
export function nameRepository(root, url) {
  for (const { folder } of publishedPackages(root)) {
    const file = join(root, folder, 'package.json')
    const manifest = { ...readManifest(file), repository: { type: 'git', url: `git+${url}.git`, directory: folder } }
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
  }
}

/** @param {string} root */
const manifestFiles = (root) => globSync('{packages/*,apps/*,bench}/package.json', { cwd: root }).toSorted()

/**
 * @param {string} file
 * @returns {Manifest}
 */
const readManifest = (file) => JSON.parse(readFileSync(file, 'utf8'))
