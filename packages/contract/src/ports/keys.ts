/** A key that a process may use and never sees. It gets a placeholder, which the relay replaces on the way. */
export interface KeyGrant {
  /** The variable that holds the placeholder. */
  readonly name: string
  readonly value: string
  /** The only host that gets the value, over https: a name in lower case, with a port unless it is 443. */
  readonly host: string
  /** The only header in which the placeholder is replaced. */
  readonly header: string
  readonly methods: readonly string[]
  /** Path patterns. `*` stays inside one segment; `/**` at the end includes everything below. */
  readonly paths: readonly string[]
}

/** A placeholder on the way to a host. */
export interface KeyUse {
  /** The name of the key. */
  readonly key: string
  readonly host: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** Where the placeholder was instead, as the end of a sentence. Then the value was not sent. */
  readonly refused?: string
}
