/** npm's own reader has no types; these are the parts Bulkhead uses. */
declare module '@npmcli/config' {
  export type Source = 'default' | 'builtin' | 'global' | 'user' | 'project' | 'env' | 'cli'
  export interface Layer {
    /** A file, or a description such as "environment". */
    readonly source: string
    readonly raw: object
    readonly loadError?: Error
  }
  export default class Config {
    constructor(options: {
      definitions: object; shorthands: object; npmPath: string; env: Record<string, string | undefined>; argv: string[]
      warn: boolean
    })
    readonly data: ReadonlyMap<Source, Layer>
    protected localPrefix: string | null
    load(): Promise<void>
    protected loadProjectConfig(): Promise<void>
    protected loadLocalPrefix(): Promise<void>
    get(key: string): unknown
    find(key: string): Source | null
  }
}

declare module '@npmcli/config/lib/definitions/index.js' {
  const npm: { readonly definitions: object; readonly shorthands: object }
  export default npm
}
