/** A secret as it is, and as it is written into JSON, an address or a header. */
export const writtenForms = (secret: string): readonly string[] => [
  secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed()),
  Buffer.from(secret).toString('base64').replace(/={1,2}$/, ''), Buffer.from(secret).toString('base64url'),
]

/** A shorter secret would remove parts of ordinary text. */
export const MIN_SECRET_CHARS = 6
