/** A key for one host, as a configuration describes it. */
interface DescribedKey {
  readonly host: string
  readonly header?: string | undefined
  readonly methods: readonly string[]
  readonly paths: readonly string[]
}

const AUTHORIZATION = 'Authorization'

/** Headers that control routing or framing, or that the relay sets. */
const NOT_FOR_KEYS: ReadonlySet<string> = new Set([
  'host', 'connection', 'keep-alive', 'content-length', 'content-encoding', 'transfer-encoding', 'te', 'trailer',
  'upgrade', 'expect', 'accept-encoding', 'http2-settings', 'via', 'proxy-authorization', 'sec-websocket-extensions',
])

/** Whether a header can carry a key. */
export const carriesKeys = (header = AUTHORIZATION): boolean => !NOT_FOR_KEYS.has(header.toLowerCase())

/** As a host pattern: a key is for one port. */
export const hostOfKey = ({ host }: Pick<DescribedKey, 'host'>): string => host.includes(':') ? host : `${host}:443`

/** The key with its value, for a relay. */
export const keyGrant = (name: string, value: string, { header = AUTHORIZATION, ...key }: DescribedKey) =>
  ({ ...key, name, value, header })

/** Whether a key is sent at most where the other one is: to the same host, in the same header. */
export const isKeyWithin = (key: DescribedKey, most: DescribedKey): boolean => {
  const covers = (path: string, pattern: string): boolean =>
    path === pattern || (pattern.endsWith('/**') && path.startsWith(pattern.slice(0, -2)))
  const [header, other] = [key, most].map((one) => (one.header ?? AUTHORIZATION).toLowerCase())
  return hostOfKey(key) === hostOfKey(most) && header === other
    && key.methods.every((method) => most.methods.includes(method))
    && key.paths.every((path) => most.paths.some((pattern) => covers(path, pattern)))
}
