import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, ConnectedExtension, LayerConfig, McpServerConfig, ResolvedConfig } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { McpServers, type McpServersOptions } from '../../../src/mcp/index.ts'

const fixture = (name: string): string => join(import.meta.dirname, 'fixtures', name)

/** Node compiles a fixture once. Its environment does not have this setting, because a test lists the environment. */
const CACHED = ['--import', `data:text/javascript,${encodeURIComponent(
  `import { enableCompileCache } from 'node:module'
   enableCompileCache(${JSON.stringify(process.env['NODE_COMPILE_CACHE'])})`,
)}`]

/** Runs a line of shell in the workspace. The command of the server is `"$@"`. */
export const inShell = (line: string, server: McpServerConfig): McpServerConfig =>
  ({
    ...server, command: ['/bin/sh', '-c', line, 'sh', ...(server as { readonly command: readonly string[] }).command],
  }) as McpServerConfig

/** A temporary folder, and servers that end with it. */
export class Setup {
  readonly folder = mkdtempSync(join(tmpdir(), 'bulkhead-mcp-'))
  readonly #servers = new Set<McpServers>()

  /** The log of the SDK fixture. */
  get notes(): readonly string[] {
    try {
      return readFileSync(join(this.folder, 'notes'), 'utf8').split('\n').filter((line) => line !== '')
    } catch {
      return []
    }
  }

  sdk(more: Partial<Extract<McpServerConfig, { type: 'local' }>> = {}): McpServerConfig {
    const command = [process.execPath, ...CACHED, fixture('sdk-server.ts'), join(this.folder, 'notes')]
    return { type: 'local', command, jail: false, ...more }
  }

  raw(script: object, name = 'script.json'): McpServerConfig {
    writeFileSync(join(this.folder, name), JSON.stringify(script))
    const command = [process.execPath, fixture('raw-server.js'), join(this.folder, name)]
    return { type: 'local', command, jail: false }
  }

  /** A server without the SDK, which starts several times faster. It notes its start too. */
  notedRaw(...tools: readonly string[]): McpServerConfig {
    const raw = this.raw({ tools: tools.map((name) => ({ name })) })
    return inShell(`echo "started $$" >> '${join(this.folder, 'notes')}'; exec "$@"`, raw)
  }

  open(options: Partial<McpServersOptions> & { readonly env?: Readonly<Record<string, string>> } = {}): McpServers {
    const { env = {}, ...more } = options
    const servers = new McpServers({
      self: { name: 'test', version: '1.0.0' }, onChange: () => undefined,
      surroundings: { workspace: this.folder, base: { PATH: process.env['PATH'] ?? '' }, env: (name) => env[name] },
      ...more,
    })
    this.#servers.add(servers)
    return servers
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers].map((servers) => servers.close()))
    rmSync(this.folder, { recursive: true })
  }
}

const layer = (name: LayerConfig['layer'], config: ConfigFile): LayerConfig =>
  ({ layer: name, location: `${name}/config.json`, config })

export function resolved(
  global: NonNullable<ConfigFile['mcp']>, project: NonNullable<ConfigFile['mcp']> = {}, rest: ConfigFile = {},
): ResolvedConfig {
  return {
    merged: { ...rest, mcp: { ...global, ...project } },
    layers: [layer('global', { mcp: global }), layer('project', { mcp: project })],
  }
}

export const now = (): AbortSignal => new AbortController().signal

/** Calls a tool as a compartment does. */
export function call(
  extension: ConnectedExtension, tool: string, args: JsonObject = {}, runtime: object = {},
): Promise<JsonObject> {
  const { tools } = extension.module([tool])
  const execute = tools[tool]!.execute as unknown as (args: JsonObject, runtime: object) => Promise<JsonObject>
  return execute(args, { signal: now(), progress: () => undefined, ...runtime })
}

/** The extension of the first server, once it is connected. */
export async function connectedTo(servers: McpServers, config: ResolvedConfig): Promise<ConnectedExtension> {
  servers.offer(config)
  await servers.connect(now())
  return servers.offer(config).extensions[0]!
}
