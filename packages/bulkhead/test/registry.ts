import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An npm registry on loopback with one package. Tests add versions. */
export async function startRegistry(name: string) {
  const tarballs = new Map<string, Uint8Array>()
  const authorizations = new Set<string | undefined>()
  const server = createServer((request, response) => {
    authorizations.add(request.headers.authorization)
    const path = decodeURIComponent(request.url ?? '').slice(1)
    const tarball = tarballs.get(path.replace('tarballs/', ''))
    if (tarball) response.setHeader('content-length', tarball.length).end(tarball)
    else if (path === name) response.end(JSON.stringify(document()))
    else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const document = () => ({
    name, 'dist-tags': { latest: [...tarballs.keys()].at(-1) },
    'versions': Object.fromEntries(
      [...tarballs].map(([version, tarball]) => [
        version,
        {
          name, version,
          dist: {
            tarball: `${url}tarballs/${version}`,
            integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
          },
        },
      ]),
    ),
  })
  return {
    url,
    /** The authorization headers of all requests. */
    authorizations,
    publish: (version: string, tarball: Uint8Array) => void tarballs.set(version, tarball),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
