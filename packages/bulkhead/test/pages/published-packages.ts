import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { ROOT } from './blocks.ts'

/** Builds and packs the workspace, and serves the tarballs as a registry does. Others come from the user's registry. */
export async function startPublishedPackages() {
  for (const script of [['build'], ['release', '--dry-run']])
    execFileSync('pnpm', script, { cwd: ROOT, stdio: 'ignore' })
  const others = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  const tarballs = globSync('dist/release/packages/*.tgz', { cwd: ROOT }).map((path) => readTarball(join(ROOT, path)))
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1)
    const found = tarballs.find(({ manifest: { name } }) => path === name || path === `${name}.tgz`)
    if (found === undefined) response.writeHead(302, { location: others + (request.url ?? '').slice(1) }).end()
    else if (path.endsWith('.tgz')) response.end(found.bytes)
    else response.end(JSON.stringify(documentOf(found, url)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

interface Tarball {
  readonly bytes: Uint8Array
  readonly manifest: { readonly name: string; readonly version: string }
}

function readTarball(path: string): Tarball {
  const manifest = execFileSync('tar', ['-xOzf', path, 'package/package.json'], { encoding: 'utf8' })
  return { bytes: readFileSync(path), manifest: JSON.parse(manifest) as Tarball['manifest'] }
}

function documentOf({ bytes, manifest }: Tarball, url: string) {
  const { name, version } = manifest
  const dist = {
    tarball: `${url}${name}.tgz`, integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
  }
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } }
}
