const { PATH = '', NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE = '' } = process.env

/** The environment variables that a process needs to run and to start quickly, without any settings of the service. */
export const bareEnv: Record<string, string> = {
  PATH,
  ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE, NODE_COMPILE_CACHE_PORTABLE }),
}
