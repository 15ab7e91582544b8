/** npm's own publisher has no types; these are the parts Bulkhead uses. */
declare module 'libnpmpublish' {
  /** Options of npm, with credentials as in an .npmrc. */
  export type PublishOptions = Readonly<Record<string, unknown>>
  export function publish(
    manifest: object, tarball: Buffer, options: PublishOptions,
  ): Promise<{ readonly transparencyLogUrl?: string }>
}
