import { once } from 'node:events'
import { cp, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, openSqliteStore, type Host } from 'bulkhead'

/** What a scenario plays with. All of it is a copy that goes at the end. */
export interface Stage extends AsyncDisposable {
  readonly host: Host
  /** A file beside the workspace, which nothing here may read. */
  readonly secret: string
  /** Of a server on this machine, which nothing here may reach. */
  readonly url: string
  readonly workspace: string
  /** A new version of the tool `plan_voyage`, as its author writes it. */
  changeTool(): Promise<void>
}

const HERE = join(import.meta.dirname, '..')

export async function openStage(): Promise<Stage> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'bulkhead-demo-')))
  const [workspace, home] = [join(folder, 'workspace'), join(folder, 'home')]
  await Promise.all([
    cp(join(HERE, 'workspace'), workspace, { recursive: true }), cp(join(HERE, 'extensions'), home, { recursive: true }),
    writeFile(join(folder, 'secret.txt'), 'the key of the treasury\n'),
  ])
  const outside = createServer((_, response) => response.end('the harbour office'))
  await once(outside.listen(0, '127.0.0.1'), 'listening')
  const host = await createHost({
    workspace, home, store: await openSqliteStore({ file: join(folder, 'bulkhead.db') }),
    // The server is known when its tool is called.
    config: { mcp: { lighthouse: { type: 'local', command: [process.execPath, 'servers/lighthouse.mjs'] } } },
  })
  return {
    host, workspace, secret: join(folder, 'secret.txt'), url: `http://127.0.0.1:${(outside.address() as AddressInfo).port}`,
    async changeTool() {
      const tool = join(home, 'tools/harbour')
      await edit(join(tool, 'index.js'), 'return { from, to,', "return { via: 'the inner route', from, to,")
      await edit(join(tool, 'bulkhead.json'), '"1.2.0"', '"1.3.0"')
      await host.reload()
    },
    async [Symbol.asyncDispose]() {
      await host.close()
      outside.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function edit(file: string, before: string, after: string): Promise<void> {
  await writeFile(file, (await readFile(file, 'utf8')).replace(before, after))
}
