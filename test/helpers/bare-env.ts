const { PATH = '', NODE_COMPILE_CACHE } = process.env

/** What a process needs of ours to run at all, and to start quickly: none of its settings. */
export const bareEnv: Record<string, string> = { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }) }
