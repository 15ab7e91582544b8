import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inspectContents } from '../../../scripts/release/contents.mjs'
import { copyDocumentation } from '../../../scripts/release/docs.mjs'

const ROOT = join(import.meta.dirname, '../../..')
/** `pnpm check` puts pnpm on the PATH. A test that is run by hand uses the one that the setup installed. */
const PATH = [...globSync('.tools/*/node_modules/.bin', { cwd: ROOT })
  .map((path) => join(ROOT, path)), process.env['PATH']].join(':')

it('the tarball of bulkhead contains the documentation, and every link in it resolves', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulkhead-packed-docs-'))
  try {
    const { name, version, files } = JSON.parse(
      readFileSync(join(ROOT, 'packages/bulkhead/package.json'), 'utf8'),
    ) as Record<string, unknown>
    mkdirSync(join(folder, 'package'))
    mkdirSync(join(folder, 'package/dist'))
    writeFileSync(join(folder, 'package/dist/index.js'), '')
    writeFileSync(join(folder, 'package/package.json'), JSON.stringify({ name, version, files }))
    writeFileSync(join(folder, 'package/README.md'), readFileSync(join(ROOT, 'packages/bulkhead/README.md')))
    copyDocumentation(join(folder, 'package'))
    execFileSync(
      'pnpm', ['pack', '--pack-destination', folder],
      { cwd: join(folder, 'package'), env: { ...process.env, PATH }, stdio: 'pipe' },
    )
    rmSync(join(folder, 'package'), { recursive: true })
    execFileSync('tar', ['-xzf', join(folder, `${String(name)}-${String(version)}.tgz`), '-C', folder])

    const { files: packed, problems } = inspectContents(join(folder, 'package'))
    expect(problems).toEqual([])
    expect(packed).toContain('llms.txt')
    expect(packed.filter((file) => file.startsWith('docs/')).toSorted())
      .toEqual(globSync('docs/**/*.*', { cwd: ROOT }).toSorted())
  } finally {
    rmSync(folder, { recursive: true })
  }
})
