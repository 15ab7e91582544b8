import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { writeCoreVersion } from '../../../scripts/release/core-version.mjs'
import { provenanceStatement } from '../../../scripts/release/provenance.mjs'
import {
  copyWorkspace, nameRepository, pendingChangesets, publishedPackages,
} from '../../../scripts/release/workspace-copy.mjs'

const ROOT = join(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'bulkhead-release-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

describe('a copy of a workspace', () => {
  const copy = join(folder, 'copy')
  for (const name of ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'LICENSE', '.changeset/config.json'])
    write(name, '')
  write('.changeset/one.md', '')
  write('packages/one/package.json', '{ "name": "one", "version": "1.0.0", "files": ["dist"] }')
  write('packages/one/dist/index.js', '')
  write('packages/one/src/index.ts', '')
  write('bench/package.json', '{ "name": "bench", "version": "0.0.0", "private": true }')
  mkdirSync(copy)
  copyWorkspace(folder, copy)

  it('has what is packed, and the changesets', () => {
    expect(existsSync(join(copy, 'packages/one/dist/index.js'))).toBe(true)
    expect(existsSync(join(copy, 'packages/one/src'))).toBe(false)
    expect(pendingChangesets(copy)).toEqual(['.changeset/one.md'])
    expect(publishedPackages(copy).map(({ name, folder: place }) => [name, place])).toEqual([['one', 'packages/one']])
  })

  it('names the repository, and leaves the workspace as it is', () => {
    nameRepository(copy, 'https://git.example/me/it')
    expect(publishedPackages(copy)).toMatchObject([
      { name: 'one', repository: { type: 'git', url: 'git+https://git.example/me/it.git', directory: 'packages/one' } },
    ])
    expect(publishedPackages(folder)[0]).not.toHaveProperty('repository')
  })
})

it('the provenance names the package, its bytes, the commit and the workflow', () => {
  const source = { repository: 'https://git.example/me/it', ref: 'refs/heads/main', commit: 'abc' }
  expect(provenanceStatement({ name: '@a/b', version: '1.2.3' }, Buffer.from(''), source)).toMatchObject({
    subject: [
      { name: 'pkg:npm/%40a/b@1.2.3', digest: { sha512: expect.stringMatching(/^cf83e1357eefb8bd/) as string } },
    ],
    predicate: {
      buildDefinition: {
        externalParameters: { workflow: { repository: source.repository, path: '.github/workflows/release.yml' } },
        resolvedDependencies: [{ uri: 'git+https://git.example/me/it@refs/heads/main', digest: { gitCommit: 'abc' } }],
      },
    },
  })
})

it('new versions reach the constants of the host and its tools, in the sources and in what was built from them', () => {
  const constants = ['bulkhead/src/facade/version.ts', 'tools-bundled/src/model/bundled-extension.ts']
  const built = constants.map((path) => path.replace('src', 'dist').replace(/ts$/, 'js'))
  write('packages/bulkhead/package.json', '{ "version": "9.8.7" }')
  for (const [index, path] of constants.entries()) {
    const source = readFileSync(join(ROOT, 'packages', path), 'utf8')
    write(`packages/${path}`, source)
    write(`packages/${built[index]}`, source.replaceAll("'", '"'))
  }
  writeCoreVersion(join(folder, 'packages'))
  for (const path of [...constants, ...built]) {
    expect(readFileSync(join(folder, 'packages', path), 'utf8').replaceAll('"', "'"))
      .toMatch(/CORE_VERSION = '9\.8\.7'|requiredCoreVersion: '\^9\.8\.7',\n  version: '9\.8\.7'/)
  }
})

it('every published package has a changelog that begins with its name', () => {
  for (const { name, folder: place } of publishedPackages(ROOT)) {
    expect(readFileSync(join(ROOT, place, 'CHANGELOG.md'), 'utf8')).toMatch(new RegExp(`^# ${name}\n\n## \\d`))
  }
})

it('workflows pin every action by its commit and start without permissions', () => {
  const workflows = globSync('.github/workflows/*.yml', { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  )
  const actions = workflows.flatMap((text) => [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action))
  expect(actions.filter((action) => !/@[0-9a-f]{40} # v[\d.]+$/.test(action!))).toEqual([])
  for (const text of workflows) expect(text).toMatch(/^permissions:( \{\}|\n  contents: read)\n\n/m)
})
