/** A power of the operating system to hold a hull, and what it takes to use it; or why it is not used. */
export type OsLayer<Means> =
  | ({ readonly active: true } & Means)
  | { readonly active: false; readonly reason: string }

export const inactive = (reason: string): { readonly active: false; readonly reason: string } => ({ active: false, reason })
